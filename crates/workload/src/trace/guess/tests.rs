use super::*;

fn guessed(text: &str) -> Result<Guess, Option<String>> {
    let lines = text.lines().filter(|line| !line.is_empty()).zip(1..).map(|(line, number)| (number, line));
    guess(&lines.collect::<Vec<_>>())
}

/// A text's block.
fn noted(text: &str) -> String {
    guessed(text).map_or(String::new(), |guess| guess.block())
}

/// A text's block without the notes.
fn told(text: &str) -> String {
    let block = noted(text);
    block
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(" # ").next().unwrap())
        .collect::<Vec<_>>()
        .join("; ")
}

fn check(text: &str, parts: &[&str]) {
    let found = told(text);
    for part in parts {
        assert!(found.contains(part), "{part}: {found}");
    }
}

#[test]
fn a_header_names_the_columns_and_their_units() {
    let found = told("timestamp,type,offset,length\n1697041234.1,Write,4096,4096\n1697041234.2,Read,8192,512\n");
    assert_eq!(
        found,
        "format = \"columns\"; time_unit = \"s\"; [workload.trace.columns]; op = \"type\"; address = \"offset\"; \
         size = \"length\"; time = \"timestamp\"; address_unit_bytes = 1; size_unit_bytes = 1; read = [\"Read\"]; \
         write = [\"Write\"]"
    );
    let text = "# of mine\ntime_ms\trw\tsector\tnsectors\n1\tW\t0\t8\n2\tW\t8\t8\n";
    check(text, &["time_unit = \"ms\"", "size = \"nsectors\"", "separator = \"tab\"", "address_unit_bytes = 512"]);
    let text = "ts_us,op,lba,size_kb\n5,W,8,4\n9,R,16,64\n";
    check(text, &["time_unit = \"us\"", "address_unit_bytes = 512", "size_unit_bytes = 1024"]);
    let text =
        "Timestamp,Response,IOType,LUN,Offset,Size\n1455592751.1,0.001,W,1,40960,4096\n1455592752.0,0.1,R,1,512,512\n";
    check(text, &["time = \"Timestamp\"", "op = \"IOType\"", "device = \"LUN\"", "size_unit_bytes = 1;"]);
    // Offsets and sizes that are no whole sectors in bytes count sectors.
    check("time,offset,size,op\n1,13,8,R\n2,29,16,W\n", &["address_unit_bytes = 512", "size_unit_bytes = 512"]);
    // Names in a comment cannot be used, but mean the same.
    check(
        "#time_ms rw lba bytes\n1 W 0 4096\n2 W 8 512\n",
        &["time_unit = \"ms\"", "size = 4", "size_unit_bytes = 1;"],
    );
}

#[test]
fn commands_of_scsi_are_operations_below_a_name_that_says_so() {
    // As libCacheSim writes CloudPhysics requests.
    let text =
        "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33898,28,6656,40409911\n1,33899,2a,6144,31954535\n";
    let columns = "op = \"op\"; address = \"lbn\"; size = \"size\"; time = \"time\"; address_unit_bytes = 512; \
                   size_unit_bytes = 1; read = [\"28\"]; write = [\"2a\"]";
    check(text, &[columns]);
    // A constant column is no operation.
    check("28 W 100 8\n28 R 9200 16\n28 W 200 16\n", &["op = 2"]);
    check("9.5 28 W 100 8\n9.6 28 R 9200 16\n9.7 28 W 200 16\n", &["op = 3"]);
}

#[test]
fn without_a_header_numbers_tell_the_columns() {
    let columns = "op = 2; address = 3; size = 4; time = 1; address_unit_bytes = 512";
    check("0 R 100 8\n5 W 9200 16\n7 W 200 16\n", &[columns, "separator = \"blanks\""]);
    // A flag alone has no meaning: without both values nothing tells it.
    assert_eq!(told("5,1,7\n6,0,7\n9,1,7\n"), "");
    check("0,W,0,8\n5,R,8,8\n", &["address = 3; size = 4; time = 1"]);
    check("time;op;lba;size\n0,5;W;10;8\n0,7;R;10;8\n", &["address = \"lba\""]);
    check("t,op,lba,l\u{e4}nge size\n1,W,0,8\n", &["size = \"l\u{e4}nge size\"", "time = \"t\""]);
    check("0.5 sda W 0x1f0 4K\n0.7 sda R 0x200 8K\n", &["address = 4; size = 5; time = 1; device = 2"]);
}

#[test]
fn flags_are_proposed_with_both_values() {
    check("t,op,lba,size\n1,0,5,8\n2,1,9,8\n", &["read = [\"0\"]; write = [\"1\"]"]);
    check("t,is_read,lba,size\n1,0,5,8\n2,0,9,8\n", &["read = [\"1\"]; write = [\"0\"]"]);
    check("t,is_write,lba,size\n1,1,5,8\n2,1,9,8\n", &["read = [\"0\"]; write = [\"1\"]"]);
    check("1,100,8,0\n4,900,8,1\n9,500,8,1\n", &["op = 4; address = 2; size = 3; time = 1"]);
    assert!(noted("t,op,lba,size\n1,0,5,8\n2,1,9,8").contains("exchange them if need be"));
}

#[test]
fn dates_and_times_of_day_are_times() {
    let dates = "2024-05-31 12:30:00.5,W,0,8\n2024-05-31 12:30:01,R,64,8\n";
    check(dates, &["time_unit = \"date_time\"", "time = 1", "op = 2"]);
    check("when,op,lba,size\n12:30:00,W,0,8\n12:30:01,R,64,8\n", &["time_unit = \"date_time\"", "time = \"when\""]);
    check("2024-05-31 12:30:00 W 0 8\n2024-05-31 12:30:01 R 64 8\n", &["time = 2", "op = 3"]);
}

#[test]
fn what_may_be_the_device_is_proposed_so_that_none_are_mixed() {
    check("time,disk,op,lba,size\n1,0,W,0,8\n2,1,W,0,8\n3,0,R,0,8\n", &["device = \"disk\""]);
    // One value so far: another may come behind the examined lines.
    check("time,disk,op,lba,size\n1,0,W,0,8\n2,0,W,0,8\n", &["device = \"disk\""]);
    check("0 0 W 100 8\n4 1 W 200 8\n9 0 R 100 8\n", &["op = 3; address = 4; size = 5; time = 1; device = 2"]);
    check("0 sda W 100 8\n1 sdb W 200 8\n", &["device = 2"]);
    check("host,disk,time,op,lba,size\na,0,1,W,0,8\nb,0,2,W,0,8\n", &["device = [\"host\", \"disk\"]"]);
    check("x,time,op,lba,size\n3,1,W,0,8\n4,2,W,0,8\n4,3,W,0,8\n", &["device = \"x\""]);
    for text in [
        "time,pid,op,lba,size\n1,7,W,0,8\n2,8,W,0,8\n3,7,R,0,8\n",
        "time,latency,op,lba,size\n1,7,W,0,8\n2,7,W,0,8\n3,8,R,0,8\n",
        "time,op,lba,size,x\n1,W,0,8,0.5\n2,W,0,8,0.5\n3,R,0,8,0.25\n",
        "time,op,lba,size,x\n1,W,0,8,11\n2,W,0,8,12\n3,R,0,8,13\n",
    ] {
        assert!(!told(text).contains("device"), "{text}");
    }
}

#[test]
fn what_is_no_table_gives_no_guess() {
    for text in ["hello world\n", "{\"op\": \"read\", \"lba\": 5, \"len\": 8}\n", "a,b\n1,2\n", "", "R,W,R\nW,R,W\n"] {
        assert_eq!(told(text), "", "{text}");
    }
}

#[test]
fn any_text_is_looked_at_without_harm() {
    let letters = b"0123456789.,;\t RWrw#-+:enaif\"\n\n\n\xFF";
    let mut state = 1u64;
    for _ in 0..20_000 {
        let text: Vec<u8> = (0..60)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                letters[(state >> 33) as usize % letters.len()]
            })
            .collect();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<Numbered<'_>> = (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty()).collect();
        if let Ok(guess) = guess(&lines) {
            assert!(guess.sets().last().unwrap().starts_with("columns = { op = "), "{lines:?}");
            assert!(!guess.block().contains(|letter: char| letter.is_control() && letter != '\n'), "{lines:?}");
        }
    }
}

/// The noted block has all parts.
fn check_noted(text: &str, parts: &[&str]) {
    let found = noted(text);
    for part in parts {
        assert!(found.contains(part), "{part}: {found}");
    }
}

#[test]
fn times_of_other_forms_are_read() {
    check("time;op;lba;size\n0,5;W;10;8\n0,7;R;10;8\n", &["time = \"time\"", "time_unit = \"s\"", "semicolon"]);
    check(
        "when,op,lba,size\n05/31/2024 10:00:00,W,0,8\n05/31/2024 10:00:01,R,8,8\n",
        &["time = \"when\"", "date_time"],
    );
    let own = told("time,op,lba,size\n2.471ms,W,0,8\n3.5ms,R,8,8\n");
    assert!(own.contains("time = \"time\"") && !own.contains("time_unit"), "{own}");
    check("t|op|lba|size\n1|W|0|8\n2|R|8|8\n", &["separator = \"pipe\"", "time = \"t\""]);
}

#[test]
fn a_time_that_is_left_out_is_named_with_its_reason() {
    check_noted(
        "when,op,lba,size\nMay 31 10:00,W,0,8\nMay 31 10:01,R,8,8\n",
        &["# \"when\" is left out, as `May 31 10:00` is no time", "all requests come at 0"],
    );
    check_noted("op,lba,size\nW,0,8\nR,8,8\n", &["# no column is taken as the time"]);
    // The day first: 05/06 alone leaves the month open.
    check_noted("31/05/2024 10:00,W,0,8\n31/05/2024 10:01,R,8,8\n", &["size = 4", "# column 1 is left out, as `31/05"]);
    // Rising addresses are no times.
    check_noted("W,0,8\nR,8,8\nW,16,8\n", &["address = 2", "size = 3", "# no column is taken as the time"]);
    assert!(!noted("time,op,lba,size\n1,W,0,8\n").contains("left out"));
}

#[test]
fn what_was_told_from_numbers_is_to_be_checked() {
    check_noted(
        "time,op,lba,size\n1000,W,0,8\n1500,R,8,8\n",
        &["time_unit = \"us\" # microseconds, told from the numbers: check it"],
    );
    // Half a second between two requests on average would be mostly waiting.
    check_noted(
        "time,op,lba,size\n0,W,0,8\n2500000,R,8,8\n5000000,R,8,8\n",
        &["time_unit = \"ns\" # nanoseconds, told"],
    );
    check_noted(
        "t_us,op,lpn,npages\n1,W,0,8\n2,R,8,1\n",
        &[
            "address_unit_bytes = 4096 # bytes of a page: check it",
            "size_unit_bytes = 4096 # bytes of a page: check it",
        ],
    );
    check_noted("1 900 W 0 8\n2 900 R 8 8\n", &["time = 1 # told from its rising numbers: check it"]);
    // A process with the same number all the time, beside moments.
    check("900 12.5 W 0 8\n900 12.6 R 8 8\n900 12.6 R 8 8\n", &["time = 2"]);
}

#[test]
fn the_end_of_a_request_is_not_taken_as_its_size() {
    for header in ["time,op,first_sector,last_sector", "op,start_lba,end_lba,time", "time,op,sector,last"] {
        let rows = if header.starts_with("op") { "W,0,7,1\nR,8,15,2\n" } else { "1,W,0,7\n2,R,8,15\n" };
        let why = guessed(&format!("{header}\n{rows}")).map(|guess| guess.block()).unwrap_err().unwrap();
        assert!(why.contains("a size is needed: add a column with the difference"), "{why}");
    }
    check("time,op,first_sector,nsectors\n1,W,0,8\n2,R,8,8\n", &["address = \"first_sector\"; size = \"nsectors\""]);
}

#[test]
fn one_bad_line_hides_nothing_and_is_named() {
    let rows = "1,W,0,8\n2,R,8,8\n3,R,16,8\n";
    for (text, said) in [
        (format!("time,op,lba,size\n{rows}broken\n"), "on_error = \"skip\" # line 5 does not fit: `broken`"),
        (format!("time,op,lba,size\n{rows}Total,3,,\n"), "line 5 does not fit: `Total,3,,`"),
        (format!("time,op,lba,size\n{rows}4,W,n/a,8\n"), "line 5 does not fit: `4,W,n/a,8`"),
        (format!("time,op,lba,size\n{rows}4,?,0,8\n"), "line 5 does not fit: `4,?,0,8`"),
        (format!("time,op,lba,size\n{rows}x,W,0,8\n"), "line 5 does not fit: `x,W,0,8`"),
        (format!("time,op,lba,size\ns,-,sectors,B\n{rows}"), "line 2 does not fit: `s,-,sectors,B`"),
        (format!("{rows}a,b\n{rows}\n{rows}c,d\n"), "at least 2 lines do not fit, the first is line 4: `a,b`"),
    ] {
        check_noted(&text, &[said]);
    }
    assert!(!noted(&format!("time,op,lba,size\n{rows}")).contains("on_error"));
}

#[test]
fn a_title_above_the_names_is_passed_over() {
    let table = "time,op,lba,size\n1,W,0,8\n2,R,8,8\n";
    check(&format!("Trace of my disk\n{table}"), &["skip_lines = 1", "op = \"op\""]);
    check(&format!("My trace, of a disk, in May, 2 drives\nmore\n{table}"), &["skip_lines = 2", "op = \"op\""]);
    check(&format!("my, trace, of, all\n{table}"), &["skip_lines = 1", "op = \"op\""]);
    assert!(!told(&format!("# of mine\n{table}")).contains("skip_lines"));
}

#[test]
fn quotes_keep_separators_in_a_column() {
    let text = "time,process,op,lba,size\n1,\"a,b\",W,0,8\n2,\"c\",R,8,8\n";
    check(text, &["op = \"op\"", "address = \"lba\"", "time = \"time\""]);
    check("\"time\",\"op\",\"lba\",\"size\"\n\"0,5\",\"W\",\"0\",\"8\"\n", &["time = \"time\"", "size = \"size\""]);
}

#[test]
fn words_are_flags_too() {
    check("t,is_write,lba,size\n1,True,5,8\n2,False,9,8\n", &["read = [\"False\"]; write = [\"True\"]"]);
    check("t,is_read,lba,size\n1,true,5,8\n", &["read = [\"true\"]; write = [\"false\"]"]);
    check("1,True,5,8\n2,False,9,8\n", &["op = 2; address = 3; size = 4; time = 1"]);
}

#[test]
fn without_a_column_of_sizes_all_are_alike() {
    check_noted("time,op,lba\n1,W,0\n2,R,8\n", &["fixed_size_bytes = 4096 # no column is taken as the size"]);
    assert!(!told("time,op,lba\n1,W,0\n2,R,8\n").contains("; size"));
}

#[test]
fn what_is_missing_from_a_table_is_said() {
    let why = |text: &str| guessed(text).map(|guess| guess.block()).unwrap_err().unwrap_or_default();
    assert!(why("time,lba,size\n1,0,8\n2,8,8\n").contains("no column has operations"));
    assert!(why("time,op,name\n1,W,a\n2,R,b\n").contains("can be the address"));
}

#[test]
fn flushes_need_no_address() {
    check("time,op,lba,size\n1,W,0,8\n2,flush,,\n3,flush,,\n4,W,8,8\n", &["flush = [\"flush\"]", "size = \"size\""]);
    assert!(!noted("time,op,lba,size\n1,W,0,8\n2,flush,,\n3,W,8,8\n").contains("on_error"));
}

#[test]
fn numbers_of_rows_are_no_times_and_the_unit_is_named() {
    // As DiskMon writes: row number, start and duration in seconds, disk, request, sector, sectors.
    let diskmon = "0\t0.000000\t0.00003052\t0\tWrite\t900\t8\n1\t0.015625\t0.00006104\t0\tRead\t640\t64\n\
                   2\t0.031250\t0.00003052\t0\tWrite\t900\t8\n";
    check(diskmon, &["time_unit = \"s\"", "op = 5; address = 6; size = 7; time = 2; device = 4"]);
    check_noted(diskmon, &["time_unit = \"s\" # seconds, told", "# column 1 numbers the rows, and is no time"]);
    // From 1, and in milliseconds: 15 ms between two requests.
    let ms = "1 0.000 W 900 8\n2 15.625 R 640 64\n3 31.250 W 900 8\n";
    check(ms, &["op = 3; address = 4; size = 5; time = 2"]);
    check_noted(ms, &["time_unit = \"ms\" # milliseconds, told"]);
    check_noted("1 0.000001 W 900 8\n2 2.625125 R 640 64\n3 4.2500035 W 900 8\n", &["time_unit = \"s\" # seconds"]);
    check_noted("1 1697041234.125 W 9 8\n2 1697041244.5 R 6 8\n3 1697041255.5 W 9 8\n", &["\"s\" # seconds"]);
    check_noted("1 1697041234125.5 W 9 8\n2 1697041234126.5 R 6 8\n3 1697041234127.5 W 9 8\n", &["\"ms\" # milli"]);
    check("1 5 W 900 8\n2 17 R 640 64\n3 40 W 900 8\n", &["op = 3; address = 4; size = 5; time = 2"]);
    // Without another rising column there is no time, and a rising address is none.
    check_noted("0 R 100 8\n1 W 200 16\n2 W 200 16\n", &["address = 3", "size = 4", "no column is taken as the time"]);
    check_noted("1 W 900 8\n2 R 640 64\n3 W 900 8\n", &["address = 3", "size = 4", "no column is taken as the time"]);
    // The name tells the meaning.
    check("t,op,lba,size\n1,W,900,8\n2,R,640,8\n3,W,900,8\n", &["time = \"t\""]);
}

#[test]
fn thousands_and_decimal_commas_leave_the_columns_where_their_names_say() {
    let thousands = "time,op,lba,size\n\"1,000\",R,\"12,345\",8\n\"2,000\",W,\"22,345\",8\n";
    check(
        thousands,
        &["address = \"lba\"; size = \"size\"; time = \"time\"", "time_unit = \"us\"", "address_unit_bytes = 512"],
    );
    assert!(
        noted(thousands).contains("`1,000` is read with a comma before thousands: check it"),
        "{}",
        noted(thousands)
    );
    let comma = "zeit;op;sektor;sektoren\n0,000123;W;1024;8\n0,000456;R;2048;16\n1,5;W;4096;8\n";
    check(
        comma,
        &[
            "address = \"sektor\"; size = \"sektoren\"; time = \"zeit\"",
            "time_unit = \"s\"",
            "separator = \"semicolon\"",
        ],
    );
    check(comma, &["address_unit_bytes = 512; size_unit_bytes = 512"]);
    check(
        "temps;op;secteur;taille\n0,5;W;10;8\n0,7;R;20;8\n",
        &["address = \"secteur\"; size = \"taille\"; time = \"temps\""],
    );
    // Names in a language nobody here knows: the numbers tell, and it is said.
    let other = noted("aika;op;paikka;koko\n0,000123;W;1024;8\n0,000456;R;2048;16\n1,5;W;4096;8\n");
    for part in ["address = \"paikka\" # its name does not say so", "size = \"koko\" # its name", "time = \"aika\" # "]
    {
        assert!(other.contains(part), "{part}: {other}");
    }
}
