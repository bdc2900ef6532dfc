/* Draws the charts of a page anew: as wide as the page, with tooltips, zoom, and the theme's colours.

   Each figure has its chart as an SVG, which stays for paper and for readers without scripts, and beside it
   the specification. A chart's plots get wider or narrower; its letters keep their size. */
"use strict";
(() => {
  const NARROW = 600, LEAST = 200, EDGE = 60, SHARE = 0.42, SIZE = 12, LINE = 14, TRIES = 5, THIN = 80, KEY = 70, STEEP = 26;
  const ink = document.createElement("canvas").getContext("2d");
  const long = (text, font) => { ink.font = font; return ink.measureText(text).width; };
  const FONT = `${SIZE}px Arial, Helvetica, Liberation Sans, sans-serif`;

  /* A text in lines that fit the room, broken behind spaces and underscores; a word that does not fit has its own line. */
  function lines(text, room, font = FONT) {
    const done = [""];
    for (const word of String(text).split(/(?<=[\s_])/)) {
      const longer = done[done.length - 1] + word;
      if (done[done.length - 1] && long(longer.trim(), font) > room) done.push(word);
      else done[done.length - 1] = longer;
    }
    return done.map(line => line.trim());
  }

  /* An expression for names broken into lines, and the most lines of one. */
  function broken(names, room, font = FONT) {
    const found = Object.fromEntries(names.map(name => [name, lines(name, room, font)]));
    return [`(${JSON.stringify(found)})[datum.value]`, Math.max(...Object.values(found).map(one => one.length))];
  }

  const parts = spec => spec.vconcat || spec.hconcat || (spec.spec ? [spec.spec] : []);
  const layers = spec => spec.layer || [];
  const each = (spec, visit) => {
    const inner = [...parts(spec), ...layers(spec)];
    visit(spec);
    inner.forEach(one => each(one, visit));
  };

  /* How many plots stand side by side: a facet's columns, or a row of charts. */
  function columns_of(spec) {
    if (spec.hconcat) return spec.hconcat.length;
    if (!spec.facet) return 1;
    const field = spec.facet.column ? spec.facet.column : spec.facet.row ? null : spec.facet;
    if (!field) return 1;
    const count = new Set(rows(spec).map(row => row[field.field])).size;
    return Math.max(1, spec.facet.column ? count : Math.min(count, spec.columns || count));
  }

  const rows = spec => {
    const data = spec.data || {};
    return data.values || (spec.datasets || {})[data.name] || [];
  };

  /* Plots side by side, no more than fit. */
  function reflow(spec, room) {
    const at = columns_of(spec);
    const fit = Math.max(1, Math.floor((room - EDGE) / LEAST));
    if (at <= fit || (spec.facet && spec.facet.column)) return spec;
    if (spec.hconcat) return { ...spec, vconcat: spec.hconcat, hconcat: undefined };
    return { ...spec, columns: fit };
  }

  const own = spec => typeof spec.width === "number";

  /* Gives each plot this much more width. */
  function widen(spec, more) {
    each(spec, one => { if (own(one)) one.width = Math.max(THIN, one.width + more); });
  }

  /* Breaks the titles of axes and the names beside rows to the room they have. */
  function wrap(spec, room) {
    each(spec, view => {
      const wide = own(view) ? view.width : room, high = typeof view.height === "number" ? view.height : 0;
      for (const one of [view, ...layers(view)]) {
        const encoding = one.encoding || {};
        const { x, y } = encoding;
        if (x && typeof x.title === "string") x.title = lines(x.title, Math.max(wide, LEAST - 20));
        if (y && typeof y.title === "string" && high) y.title = lines(y.title, high + 20);
        if (y && Array.isArray(y.sort) && y.type === "nominal" && room < NARROW) names(view, y, room * SHARE);
      }
      if (view.title && room < NARROW) {
        const text = typeof view.title === "string" ? view.title : view.title.text;
        if (typeof text === "string") {
          const broken = lines(text, room - 60);
          view.title = typeof view.title === "string" ? { text: broken } : { ...view.title, text: broken };
        }
      }
    });
  }

  function names(view, y, room) {
    const [labelExpr, most] = broken(y.sort, room);
    y.axis = { ...y.axis, labelExpr, labelLimit: 1000 };
    const step = view.height && view.height.step;
    if (step && most > 1) view.height = { ...view.height, step: Math.max(step, LINE * most + 6) };
  }

  /* The heads of panels, as wide as the panels. */
  function heads(spec) {
    for (const one of spec.facet ? [spec.facet.field ? spec.facet : null, spec.facet.row, spec.facet.column] : []) {
      if (!one) continue;
      const found = [...new Set(rows(spec).map(row => row[one.field]))], wide = Math.max(...widths(spec), THIN);
      const [labelExpr] = broken(found, wide, `bold ${SIZE + 1}px Arial, Helvetica, Liberation Sans, sans-serif`);
      one.header = { ...one.header, labelExpr, labelLimit: 1000 };
    }
  }

  const kind = view => typeof view.mark === "string" ? view.mark : view.mark && view.mark.type;
  const number = channel => channel && channel.type === "quantitative" && channel.axis !== null;

  /* A plot over two numbers moves and zooms; what leaves its axes is not seen. */
  function zoom(spec) {
    let next = 0;
    each(spec, view => {
      if (parts(view).length || view.mark === undefined && !view.layer) return;
      const drawn = layers(view).length ? layers(view) : [view];
      const lead = drawn.find(one => number({ ...view.encoding, ...one.encoding }.x) && number({ ...view.encoding, ...one.encoding }.y));
      if (!lead || lead.params) return;
      lead.params = [{ name: `zoom${next++}`, bind: "scales", select: { type: "interval", zoom: "wheel![event.ctrlKey]" } }];
      for (const one of drawn) one.mark = { ...(typeof one.mark === "string" ? { type: one.mark } : one.mark), clip: true };
    });
  }

  /* A row of cells is as wide as other plots. */
  function even(spec) {
    each(spec, view => {
      const one = [view, ...layers(view)].find(each => each.encoding && each.encoding.x && Array.isArray(each.encoding.x.sort));
      if (one && view.width && view.width.step) view.width = view.width.step * one.encoding.x.sort.length;
    });
  }

  /* Names below columns stand steep where they have no room side by side, and some are left out where all are too many. */
  function steep(spec) {
    each(spec, view => {
      if (!own(view)) return;
      for (const one of [view, ...layers(view)]) {
        const x = one.encoding && one.encoding.x;
        if (!x || x.type !== "nominal" || !Array.isArray(x.sort) || x.axis === null) continue;
        const band = view.width / x.sort.length, most = Math.max(...x.sort.map(name => long(String(name), FONT)));
        if (most <= band - 6) continue;
        const each = Math.ceil((LINE + 1) / band);
        const level = band >= STEEP && view.width >= NARROW ? { labelAngle: -40, labelBaseline: "middle" } :
          { labelAngle: -90, labelBaseline: "middle", values: x.sort.filter((_, at) => at % each === 0) };
        x.axis = { ...x.axis, labelAlign: "right", ...level };
      }
      // Cells too small for their numbers have none.
      if (view.layer) view.layer = view.layer.filter(one => {
        const { x, text } = one.encoding || {};
        if (kind(one) !== "text" || !x || x.type !== "nominal" || !Array.isArray(x.sort)) return true;
        const data = one.data || view.data ? rows({ ...spec, ...(one.data ? one : view) }) : rows(spec);
        return Math.max(...data.map(row => long(String(row[text.field]), FONT))) <= view.width / x.sort.length;
      });
    });
  }

  /* As many names of a legend in a line as fit, and a name longer than a line in several. */
  function legends(spec, room) {
    const found = [];
    each(spec, view => found.push(...Object.values(view.encoding || {}).filter(one => one && one.type === "nominal" &&
      one.scale && Array.isArray(one.scale.domain) && one.legend !== null)));
    const most = Math.max(0, ...found.flatMap(one => one.scale.domain).map(name => long(String(name), FONT))) + KEY;
    const columns = Math.min(CONFIG.legend.columns, Math.max(1, Math.floor(room / most)));
    for (const one of found) {
      if (one.legend && one.legend.columns > columns) one.legend.columns = columns;
      if (most > room) one.legend = { ...one.legend, labelExpr: broken(one.scale.domain, room - KEY)[0], labelLimit: 1000 };
    }
    return columns;
  }

  const get = field => `datum[${JSON.stringify(field)}]`;
  const round = value => `format(${value}, ',.5~r')`;
  const time = value => `(${value} >= 1e6 ? format(${value} / 1e6, '.4~r') + ' s' : ` +
    `${value} >= 1e3 ? format(${value} / 1e3, '.4~r') + ' ms' : format(${value}, '.4~r') + ' µs')`;

  /* How a value on an axis is written: as at the axis where that has words of its own. */
  function written(channel, field) {
    const value = get(field), own = (channel.axis && channel.axis.labelExpr) || "";
    if (own.includes("µs")) return time(value);
    if (!own || own.includes("datum.label")) return round(value);
    const words = own.replaceAll("datum.value", value);
    return `((${words}) || ${round(value)})`;
  }

  /* An axis's value, or its span. */
  function span(channel, second) {
    const first = channel.field, last = second && second.field;
    if (!last) return written(channel, first);
    if (channel.bin) {
      const [from, to] = [`(${get(first)} + 0.5)`, `(${get(last)} - 1.5)`];
      return `${to} > ${from} ? ${from} + ' to ' + ${to} : '' + ${from}`;
    }
    if (first === "zero") return written(channel, last);
    return `${written(channel, first)} + ' to ' + ${written(channel, last)}`;
  }

  /* Gives each mark the words that the pointer shows: its names, then its figures with their axes' titles. */
  function tips(spec) {
    const base = rows(spec), panel = spec.facet && spec.facet.field;
    each(spec, view => {
      if (parts(view).length) return;
      const units = layers(view).length ? layers(view).flatMap(one => layers(one).length ? layers(one) : [one]) : [view];
      const all = units.map(one => ({ ...view.encoding, ...one.encoding }));
      const title = name => (all.map(one => one[name]).find(one => one && one.title) || {}).title;
      units.forEach((one, index) => {
        if (one.tipped || one.mark === undefined) return;
        one.tipped = true;
        one.encoding = { ...one.encoding, tooltip: null };
        if (["text", "rule"].includes(kind(one)) && !all[index].y) return;
        if (kind(one) === "text") return;
        const data = one.data || view.data ? rows({ ...spec, ...(one.data ? one : view) }) : base;
        const said = entries(all[index], title, data[0] || {}, panel);
        // Layers that differ in their transforms would have data of their own, and axes of their own in panels.
        const home = one.data || one.transform ? one : view, key = at => `tip${index}_${at}`;
        home.transform = [...(home.transform || []), ...said.map(([, how], at) => ({ calculate: how, as: key(at) }))];
        one.encoding.tooltip = said.map(([name], at) => ({ field: key(at), type: "nominal", title: name }));
      });
    });
    each(spec, one => delete one.tipped);
    each(spec, touchable);
  }

  /* A line gets points that nobody sees, for the pointer. */
  function touchable(view) {
    const marks = (layers(view).length ? layers(view) : [view]).filter(one => kind(one) === "line" && !one.mark.point);
    if (!marks.length) return;
    const points = marks.map(one => {
      const { x, y, tooltip } = { ...view.encoding, ...one.encoding };
      return { mark: { type: "point", filled: true, size: 90, opacity: 0 }, encoding: { x, y, tooltip },
        ...(one.data && one !== view ? { data: one.data } : {}), ...(one.transform && one !== view ? { transform: one.transform } : {}) };
    }).filter(one => one.encoding.x && one.encoding.y && one.encoding.tooltip);
    if (view.layer) {
      view.layer.push(...points);
      return;
    }
    view.layer = [{ mark: view.mark, encoding: view.encoding }, ...points];
    delete view.mark;
    delete view.encoding;
  }

  function entries(encoding, title, row, panel) {
    const found = panel && panel in row ? [["", get(panel)]] : [];
    const told = new Set([panel]);
    for (const name of ["y", "x", "color", "shape", "detail"]) {
      const one = encoding[name];
      if (!one || !one.field || !["nominal", "ordinal"].includes(one.type) || told.has(one.field) || row[one.field] === "") continue;
      told.add(one.field);
      found.push([[one.title || (one.field === "colour" ? "" : one.field)].flat().join(" "), get(one.field)]);
    }
    for (const name of ["x", "y"]) {
      const one = encoding[name], words = title(name);
      if (one && one.field && one.type === "quantitative" && words && one.scale !== null)
        found.push([[words].flat().join(" "), span(one, encoding[`${name}2`])]);
    }
    for (const field of ["words", "text"]) if (field in row) found.push(["", get(field)]);
    // Vega keeps one text for each name.
    return found.map(([name, how], at) => [name || " ".repeat(at + 1), how]);
  }

  /* A box beside the pointer. Texts stay texts: a name of a file is no element. */
  function tip(_handler, event, item, value) {
    const box = document.getElementById("tip") || document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
    // A line has the words of its first point.
    const seen = value && typeof value === "object" && !["line", "area"].includes(item.mark.marktype);
    box.classList.toggle("seen", Boolean(seen));
    if (!seen) return;
    box.replaceChildren(...Object.entries(value).map(([name, text]) => {
      const line = document.createElement("div"), key = document.createElement("span");
      key.textContent = name.trim() ? `${name}: ` : "";
      line.append(key, text);
      return line;
    }));
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - box.offsetWidth - 8);
    const above = event.clientY + 18 + box.offsetHeight > window.innerHeight;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${above ? event.clientY - box.offsetHeight - 10 : event.clientY + 18}px`;
  }

  const CONFIG = JSON.parse(document.getElementById("look").textContent);
  const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: tip, logLevel: 1 };

  /* The chart for a room, its plots wider by `more`. */
  function fitted(chart, room, more, zoomed) {
    const spec = reflow(structuredClone((room < NARROW && chart.narrow) || chart.wide), room);
    even(spec);
    widen(spec, more);
    wrap(spec, room);
    heads(spec);
    steep(spec);
    tips(spec);
    if (zoomed) zoom(spec);
    const legend = { ...CONFIG.legend, columns: legends(spec, room) };
    return { ...spec, padding: 2, config: { ...CONFIG, legend } };
  }

  const shown = new Map();

  /* Draws until the width fits: what stands beside the plots is known only then. */
  async function draw(figure, zoomed = false) {
    const room = Math.floor(figure.clientWidth);
    if (!room) return;
    const live = figure.querySelector(".live");
    const chart = JSON.parse(figure.querySelector("script.chart").textContent);
    let more = 0;
    for (let tried = 0; tried < TRIES; tried++) {
      const spec = fitted(chart, room, more, zoomed);
      if (shown.has(figure)) shown.get(figure).finalize();
      shown.set(figure, await vegaEmbed(live, spec, OPTIONS));
      figure.classList.add("drawn");
      const missing = room - parseFloat(live.querySelector("svg").getAttribute("width"));
      const step = Math.floor(missing / columns_of(spec));
      if (step === 0 || step === 1 || !widths(spec).some(width => width > THIN || step > 0)) break;
      more += step;
    }
  }

  function widths(spec) {
    const found = [];
    each(spec, one => { if (own(one)) found.push(one.width); });
    return found;
  }

  function listen(figure) {
    const begin = event => {
      if (figure.dataset.zoomed || event.type === "wheel" && !event.ctrlKey) return;
      if (event.type === "wheel") event.preventDefault();
      figure.dataset.zoomed = "yes";
      draw(figure, true);
    };
    const live = figure.querySelector(".live");
    live.addEventListener("wheel", begin, { passive: false });
    live.addEventListener("pointerdown", event => { if (event.pointerType === "mouse") begin(event); });
    live.addEventListener("dblclick", () => { delete figure.dataset.zoomed; draw(figure); });
  }

  async function all() {
    for (const figure of document.querySelectorAll("figure:has(> script.chart)")) {
      try {
        await draw(figure, Boolean(figure.dataset.zoomed));
      } catch (error) {
        figure.classList.remove("drawn");
        console.error(error);
      }
    }
  }

  document.querySelectorAll("figure:has(> script.chart)").forEach(listen);
  let wide = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === wide) return;
    wide = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { window.chartsDrawn = window.chartsDrawn.then(all); }, 150);
  });
  /* When it is done, every chart has the width of the page. */
  window.chartsDrawn = all();
})();
