//! FTL options, varied by bytes along the schema: a new FTL needs nothing here.

use nandlab_ftl::{FtlConfig, LIST};
use serde_json::{json, Map, Value};

/// An FTL with non-default options.
pub(super) struct Varied {
    pub(super) config: FtlConfig,
    /// Whether a number is below its default: it may have bought capacity with safety.
    pub(super) weakened: bool,
}

/// The FTL at `ftl` on the list (modulo its length); each option takes its value by one byte.
///
/// `None` if the values do not fit together.
pub(super) fn vary(ftl: u8, bytes: &[u8]) -> Option<Varied> {
    let all = FtlConfig::all();
    let at = usize::from(ftl) % all.len();
    let default = serde_json::to_value(&all[at]).expect("options are plain data");
    let name = all[at].name();
    let schema = (LIST[at].options)().to_value();
    let mut options = default[name].as_object().cloned().unwrap_or_default();
    let mut weakened = false;
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    for ((key, property), &byte) in properties.iter().zip(bytes.iter().cycle()) {
        let before = options.get(key).cloned().unwrap_or(Value::Null);
        let choices = choices(property, &schema, &before);
        let after = choices[usize::from(byte) % choices.len()].clone();
        weakened |= matches!((after.as_u64(), before.as_u64()), (Some(after), Some(before)) if after < before);
        options.insert(key.clone(), after);
    }
    let config = serde_json::from_value(json!({ name: options })).ok()?;
    Some(Varied { config, weakened })
}

/// The FTL with its options, from a JSON line; missing options have their defaults. `None` for any other line.
pub(super) fn named(json: &[u8]) -> Option<Varied> {
    let config: FtlConfig = serde_json::from_slice(json).ok()?;
    let weakened = changed(&config).into_iter().any(|(_, given, usual)| given.as_u64() < usual.as_u64());
    Some(Varied { config, weakened })
}

/// The line for [`named`], with the non-default options.
pub(super) fn line(config: &FtlConfig) -> String {
    let options: Map<String, Value> = changed(config).into_iter().map(|(key, given, _)| (key, given)).collect();
    format!("{}\n", json!({ config.name(): options }))
}

/// Each non-default option, with its default.
fn changed(config: &FtlConfig) -> Vec<(String, Value, Value)> {
    let options = |config: &FtlConfig| {
        let value = serde_json::to_value(config).expect("options are plain data");
        value[config.name()].as_object().cloned().unwrap_or_default()
    };
    let all = FtlConfig::all();
    let usual = options(all.iter().find(|known| known.name() == config.name()).expect("it is on the list"));
    let given = options(config).into_iter();
    given
        .map(|(key, value)| (key.clone(), value, usual[&key].clone()))
        .filter(|(_, value, usual)| value != usual)
        .collect()
}

/// Possible option values; the first is the default.
fn choices(property: &Value, schema: &Value, default: &Value) -> Vec<Value> {
    let mut choices = vec![default.clone()];
    collect(property, schema, default, &mut choices);
    choices
}

fn collect(property: &Value, schema: &Value, default: &Value, choices: &mut Vec<Value>) {
    if let Some(path) = property["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        collect(schema.pointer(path).unwrap_or(&Value::Null), schema, default, choices);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for variant in property[key].as_array().into_iter().flatten() {
            collect(variant, schema, default, choices);
        }
    }
    choices.extend(property["enum"].as_array().into_iter().flatten().cloned());
    choices.extend(property.get("const").cloned());
    match &property["type"] {
        Value::String(name) => choices.extend(of_type(name, property, schema, default)),
        Value::Array(names) => {
            for name in names.iter().filter_map(Value::as_str) {
                choices.extend(of_type(name, property, schema, default));
            }
        }
        _ => {}
    }
}

fn of_type(name: &str, property: &Value, schema: &Value, default: &Value) -> Vec<Value> {
    match name {
        "boolean" => vec![json!(false), json!(true)],
        "integer" => {
            let usual = default.as_u64().unwrap_or(1);
            [0, 1, 2, 3, usual.saturating_sub(1), usual + 1, usual * 2, u32::MAX.into()].map(Value::from).into()
        }
        "number" => [0.0, 0.5, 1.0].map(Value::from).into(),
        "null" => vec![Value::Null],
        "object" => vec![object(property, schema)],
        _ => Vec::new(),
    }
}

/// An object with the first choice for each property: a variant with its own options.
fn object(property: &Value, schema: &Value) -> Value {
    let properties = property["properties"].as_object().cloned().unwrap_or_default();
    let fill = |(key, inner): (&String, &Value)| {
        let value = choices(inner, schema, &inner["default"]).into_iter().find(|value| !value.is_null());
        (key.clone(), value.unwrap_or(Value::Null))
    };
    Value::Object(properties.iter().map(fill).collect::<Map<_, _>>())
}
