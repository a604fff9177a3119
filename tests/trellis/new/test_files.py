"""Files that people have: read right, or refused with line, column, cause and remedy."""

import csv
import datetime
import gzip
import io
import re
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import says
from trellis.new import files
from trellis.new.described import DataError, Reading, lines


@pytest.fixture
def read(tmp_path):
    """Reads a file of this content: (values by column, what the screen says)."""

    def read(content, name="data.csv", **said):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        file = files.read(path, Reading(**said))
        return file.table.to_pydict(), "\n".join([file.form, *lines(file.notes)])

    return read


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [3, 40_000])
def test_line_breaks_in_quotes_at_any_size(read, end, size):
    """The large file has blocks of pyarrow's default size; one block loses no character."""
    notes = [f"line 1{end}line {n}" + "x" * (n % 50) for n in range(size)]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator=end)
    rows.writerow(["id", "note", "y"])
    rows.writerows([n, note, n % 2] for n, note in enumerate(notes))
    values, _ = read(text.getvalue())
    # A file without any line feed has its line ends, in quotes too, written as line feeds.
    assert values["note"] == [note.replace("\r", "\n") if end == "\r" else note for note in notes]
    assert values["y"] == [n % 2 for n in range(size)]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(read, separator):
    header, row = separator.join(["a", "b", "note"]), separator.join(["1", "x", '"p, q; r|s"'])
    values, _ = read(f"{header}\n{row}\n{row}\n")
    assert values == {"a": [1, 1], "b": ["x", "x"], "note": ["p, q; r|s"] * 2}


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_encodings_that_a_file_says(read, encoding):
    values, _ = read("größe,结果\n1,ü\n2,€\n".encode(encoding))
    assert values == {"größe": [1, 2], "结果": ["ü", "€"]}


def test_an_encoding_that_a_file_does_not_say(read):
    content = "id,Befund\n1,gut\n2,Müller\n".encode("cp1252")
    with pytest.raises(DataError, match=r"line 3, column 'Befund'.*'Müller'.*--encoding cp1252"):
        read(content)
    values, screen = read(content, encoding="cp1252")
    assert values["Befund"] == ["gut", "Müller"]
    assert "Windows-1252" in screen
    with pytest.raises(DataError, match=r"line 1, byte 0xF6.*'größe'"):
        read("größe,b\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="--encoding: 'martian' is no encoding"):
        read(content, encoding="martian")


@pytest.mark.parametrize(
    ("written", "values", "said"),
    [
        (["1,5", "2,25"], [1.5, 2.25], "decimal commas"),
        (["1.234,5", "2"], [1234.5, 2.0], "points between thousands, decimal commas"),
        (["1.234.567", "2"], [1234567, 2], "points between thousands"),
        (["1,234.5", "2"], [1234.5, 2.0], "commas between thousands"),
        (["1,234,567", "2"], [1234567, 2], "commas between thousands"),
        (["1 234", "12"], [1234, 12], "blanks between thousands"),
        (["1\u00a0234,5", "12"], [1234.5, 12.0], "blanks between thousands, decimal commas"),
        (["1'234.5", "12"], [1234.5, 12.0], "apostrophes between thousands"),
        (["12 %", "7.5%"], [12.0, 7.5], "12 % is 12"),
        (["€ 1.50", "-€2"], [1.5, -2.0], "without €"),
        (["1,50 €", "2,00 €"], [1.5, 2.0], "without €, decimal commas"),
        (["\u22125", "+3"], [-5, 3], None),
        (["1e3", "-.5"], [1000.0, -0.5], None),
        (["0", "10"], [0, 10], None),
    ],
)
def test_numbers_as_people_write_them(read, written, values, said):
    found, screen = read("id;x\n" + "".join(f"{n};{text}\n" for n, text in enumerate(written)))
    assert found["x"] == values
    assert list(map(type, found["x"])) == list(map(type, values))
    assert ("numbers: x" in screen) == (said is not None)
    assert said is None or said in screen


def test_a_number_that_can_be_two_is_refused_unless_the_file_or_the_author_says(read):
    one = 'id,x\n1,"1,234"\n2,"5,678"\n'
    with pytest.raises(DataError, match=r"'x'.*'1,234'.*1234 or 1\.234"):
        read(one)
    assert read(one, decimal=",")[0]["x"] == [1.234, 5.678]
    assert read(one, decimal=".")[0]["x"] == [1234, 5678]
    assert read("x;y\n1,234;0,5\n5,678;2,25\n")[0]["x"] == [1.234, 5.678]
    # A point cannot be the decimal mark where commas are.
    assert read("x;y\n1.234;0,5\n5.678;2,25\n")[0]["x"] == [1234, 5678]
    assert read("x;y\n1.234;a\n5.678;b\n")[0]["x"] == [1.234, 5.678]


@given(st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1, max_size=20))
def test_decimal_commas_are_the_numbers_that_points_are(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("numbers") / "n.csv"
    rows = "".join(f"{format(x, '.4f').replace('.', ',')};{x:.4f}\n" for x in numbers)
    path.write_text("comma;point\n" + rows)
    table = files.read(path).table.to_pydict()
    assert table["comma"] == table["point"] == [float(f"{x:.4f}") for x in numbers]


DAY = datetime.date(2024, 3, 14)
NOON = datetime.datetime(2024, 3, 14, 12, 30)
HALF = datetime.timedelta(minutes=30)


@pytest.mark.parametrize(
    ("written", "value", "said"),
    [
        ("2024-03-14", DAY, False),
        ("2024/03/14", DAY, True),
        ("14.03.2024", DAY, True),
        ("14.3.2024", DAY, True),
        ("14/03/2024", DAY, True),
        ("3/14/2024", DAY, True),
        ("2024-03-14 12:30", NOON, False),
        ("2024-03-14T12:30:00.000", NOON, False),
        ("14.03.2024 12:30", NOON, True),
        ("3/14/2024 12:30 PM", NOON, True),
        ("2024-03-14T12:30:00Z", NOON.replace(tzinfo=datetime.UTC), False),
        ("2024-03-14T14:30:00+02:00", NOON.replace(tzinfo=datetime.UTC), False),
        ("08:30", datetime.time(8, 30), False),
        ("8:30:15", datetime.time(8, 30, 15), False),
        ("8:30 pm", datetime.time(20, 30), False),
    ],
)
def test_dates_and_times(read, written, value, said):
    values, screen = read(f"id;when\n1;{written}\n2;\n")
    assert values["when"] == [value, None]
    assert ("dates: when" in screen) == said


@pytest.mark.parametrize("text", ["31.02.2024", "2024-13-01", "25:00", "13/13/2024", "1.2.24"])
def test_what_is_no_date_stays_text(read, text):
    assert read(f"id;when\n1;{text}\n")[0]["when"] == [text]


def test_a_date_that_can_be_two_is_refused_unless_the_author_says(read):
    content = "id,when\n1,03/04/2024\n2,05/06/2024\n"
    with pytest.raises(DataError, match=r"line 2, column 'when'.*--dates day-first"):
        read(content)
    assert read(content, dates="day-first")[0]["when"][0] == datetime.date(2024, 4, 3)
    assert read(content, dates="month-first")[0]["when"][0] == datetime.date(2024, 3, 4)


@pytest.mark.parametrize("text", ["NA", "null", "NULL", "N/A", "n/a", "NaN", "None", "nan"])
def test_a_text_that_programs_take_for_missing_is_kept_among_texts_and_said(read, text):
    content = f"country,size\n{text},1\nDE,{text}\nFR,3\n"
    values, screen = read(content)
    assert values == {"country": [text, "DE", "FR"], "size": [1, None, 3]}
    assert f"country has '{text}' in 1 rows" in screen
    assert f"missing: size ({text} in 1 rows)" in screen
    values, _ = read(content, missing=(text,))
    assert values["country"] == [None, "DE", "FR"]


def test_na_without_quotes_is_missing_where_texts_have_quotes(read):
    """R writes a missing value beside texts so."""
    values, screen = read('"a","b"\n"x","NA"\nNA,"q"\n"z",NA\n')
    assert values == {"a": ["x", None, "z"], "b": ["NA", "q", None]}
    assert says(screen, "missing: a (NA ", " 1 rows)", "b (NA ", " 1 rows)")
    assert "b has 'NA' in 1 rows" in screen


def test_an_empty_text_in_quotes_is_no_missing_value(read):
    values, screen = read('a,b\n"",1\n,2\nx,3\n')
    assert values["a"] == ["", None, "x"]
    assert "a has '' in 1 rows" in screen


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda n: f"{n + 40} kg", "numbers with something beside.*'40 kg' in line 2"),
        (lambda n: f"({n})" if n % 2 else n, r"numbers.*'\(1\)' in line 3"),
        (lambda n: f"{n}-", "numbers with something beside"),
        (lambda n: f"{n}.5D-3", "numbers with something beside"),
        (lambda n: f"{n % 9 + 1},{n + 10},{n + 100}", "numbers with something beside"),
        (lambda n: f"2024-02-{31 if n == 7 else n % 28 + 1:02d}", "dates.*'2024-02-31' in line 9"),
        (
            lambda n: f"{n % 28 + 1:02d}/03/2024" if n == 5 else f"2024-03-{n % 28 + 1:02d}",
            "dates.*'06/03/2024' in line 7",
        ),
        (lambda n: f"{n % 28 + 1}-Jan-2024", "dates"),
        (lambda n: f"{n % 28 + 1:02d}.01.{n + 10}", "dates"),
        (lambda n: f"2024-03-{n % 28 + 1:02d} 10:00{'+02:00' if n % 2 else ''}", "dates"),
    ],
)
def test_numbers_and_dates_that_stay_text_are_said_with_a_line(read, made, said):
    values, screen = read("id;x\n" + "".join(f"s{n};{made(n)}\n" for n in range(60)))
    assert values["x"] == [str(made(n)) for n in range(60)]
    assert re.search(f"kept as text.*{said}", screen)


@pytest.mark.parametrize("texts", [["<50K", ">=50K"], ["20-29", "30-39"], ["1a", "2b"]])
def test_categories_that_begin_like_numbers_are_no_news(read, texts):
    _, screen = read("id;x\n" + "".join(f"s{n};{texts[n % 2]}\n" for n in range(60)))
    assert "kept as text" not in screen


def test_types_are_those_of_all_rows(read):
    """A column that changes after any number of rows, and the line in which it does."""
    rows = "".join(f"{n},{n}\n" for n in range(200_000))
    values, screen = read(f"id,x\n{rows}200000,n.d.\n")
    assert values["x"][-1] == "n.d."
    assert values["x"][0] == "0"
    assert "x ('n.d.' in line 200002)" in screen
    assert read(f"id,x\n{rows}200000,n.d.\n", missing=("n.d.",))[0]["x"][-1] is None


def test_codes_stay_text(read):
    values, screen = read("id,hash,icd\n007,99999999999999999999,001.1\n123,1,250.0\n")
    assert values["id"] == ["007", "123"]
    assert values["hash"] == ["99999999999999999999", "1"]
    assert values["icd"] == ["001.1", "250.0"]
    said = "id (leading zeros); hash (whole numbers beyond 64 bits); icd (leading zeros)"
    assert said in screen


def test_booleans_and_words(read):
    values, screen = read("a,b,c\nTRUE,yes,Ja\nfalse,no,ja\nTrue,yes,nein\n")
    assert values["a"] == [True, False, True]
    assert values["b"] == ["yes", "no", "yes"]
    assert "c ('Ja' 1, 'ja' 1)" in screen


def test_names_are_bigquerys_and_every_other_one_is_reported(read):
    headers = ["Groesse (cm)", "größe", "Age", "age", "", "1st", "a.b", "a b", " x ", "_TABLE_y"]
    values, screen = read(",".join(headers) + "\n" + ",".join("1" * 10) + "\n")
    names = ["Groesse_cm", "größe", "Age", "age_2", "column", "c_1st", "a_b", "a b", "x"]
    assert list(values) == [*names, "c_TABLE_y"]
    for header, name in zip(headers, values, strict=True):
        assert (f"is {name}" in screen) == (header != name)


def test_the_label_has_the_files_own_name(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,Class (1=ill)\n1,0\n2,1\n")
    rows = files.describe(files.read(path), "data.d")
    assert rows.column("Class (1=ill)").name == rows.column("class_1=ill").name == "Class_1=ill"


@pytest.mark.parametrize(
    ("content", "values", "said"),
    [
        ("a,b,\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}, "column 3, without a name"),
        ("a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}, "column 3, without a name"),
        ("a,b\n1,2\n,\n3,4\n,\n", {"a": [1, 3], "b": [2, 4]}, "2 lines with separators"),
        ("# by x\n# on y\na,b\n1,2\n", {"a": [1], "b": [2]}, "2 lines that begin with #"),
        ("#a\tb\n1\t2\n", {"a": [1], "b": [2]}, "the # before the header"),
        ("sep=;\na;b\n1;2\n", {"a": [1], "b": [2]}, "semicolons"),
        ("\n\na,b\n1,2\n\n", {"a": [1], "b": [2]}, ""),
        ("a\n1\n2\n", {"a": [1, 2]}, ""),
        (",x\n0,5\n1,6\n", {"column": [0, 1], "x": [5, 6]}, "renamed: the name of column 1, empty"),
        ("a,b\n1,\n2,\n", {"a": [1, 2], "b": [None, None]}, ""),
        # They begin like other files, and are text.
        ("ORCID,par\n1,x\n", {"ORCID": [1], "par": ["x"]}, ""),
        ("PAR1,MM\n1,2\n", {"PAR1": [1], "MM": [2]}, ""),
        ('a,b\n1,"C:\\dir\\"\n', {"a": [1], "b": ["C:\\dir\\"]}, ""),
    ],
)
def test_forms_of_files(read, content, values, said):
    found, screen = read(content)
    assert found == values
    assert said in screen


def zipped(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "a,b\n1,2\n")
    return content.getvalue()


def test_packed_files(read):
    assert read(gzip.compress(b"a,b\n1,2\n"), "d.csv.gz")[0] == {"a": [1], "b": [2]}
    assert read(zipped("d.csv", "__MACOSX/._d.csv", ".x"), "d.zip")[0] == {"a": [1], "b": [2]}
    # By content, whatever the name says.
    assert read(gzip.compress(b"a,b\n1,2\n"))[0] == {"a": [1], "b": [2]}


ROWS = b"".join(b"%d,x\n" % n for n in range(30))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("d.csv", b"", "is empty"),
        ("d.csv", b" \n", "is empty"),
        ("d.csv", b"a,b\n", "has no rows below its header"),
        ("d.csv", b"a,b\n,\n,\n", "has no rows below its header"),
        ("d.csv", b"# a\n# b\n", "has no header"),
        ("d.csv", b"a,b\n" + ROWS + b"7\n", "line 32 has 1 value, the header has 2 names: '7'"),
        ("d.csv", b"a,b\n1,2\n3\n", "line 3 has 1 value, the header has 2 names: '3'"),
        ("d.csv", b"a\tb\n1\n2\n3\t4\n", "line 2 has 1 value, the header has 2 names: '1'"),
        ("d.csv", b'a,b\n"1\n2",x\n' + ROWS + b"7,8,9\n", "line 34 has 3 values"),
        ("d.csv", b"a,b\n" + ROWS + b"# end\n", "line 32.*if it is a comment, remove it"),
        ("d.csv", b"a,b\n" + ROWS + b'"7,x\n8,y\n', "quotes that line 32 opens are never closed"),
        ("d.csv", b"a,b\n" + ROWS + b'7,"x\n8,y\n', "quotes that line 32 opens are never closed"),
        ("d.csv", b"a,b\n1,2,3\n4,5,6\n", "header .line 1. has 2 names and every line below it 3"),
        ("d.csv", b"5.1,3.5,x\n4.9,3.0,y\n", "line 1 has numbers where the columns' names"),
        ("d.csv", b"7,0,0,a\n1,0,0,b\n", "line 1 has numbers where the columns' names"),
        ("d.csv", b"Report 2024\n\na,b\n1,2\n3,4\n", "line 3 has 2 values, the header has 1"),
        ("d.csv", b"a,b\r1,x\r2,\xfc\r", "not in UTF-8: line 3, column 'b'"),
        ("d.csv", b"a,b\n1,2\n3,x\ry\n", "line 3 has a carriage return"),
        ("d.csv", b"a,b\n" + ROWS * 99 + b"3,x\ry\n", "line 2972 has a carriage return"),
        ("d.csv", b"a,b\n1,2\n3,\xfc\ry\n", "line 3 has a carriage return"),
        ("d.csv", b"a,b\n1,\0\n", "line 2 has a byte of value 0"),
        ("d.csv", b"<html><table>\n", "is HTML or XML"),
        ("d.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-20], "is damaged"),
        ("d.zip", zipped("d.csv", "e.csv"), r"holds 2 files \(d.csv, e.csv\)"),
        ("d.zip", zipped("d.csv")[:-20], "is damaged"),
        ("d.csv", zipped("[Content_Types].xml", "xl/workbook.xml"), "rename it to .xlsx"),
        ("d.parquet", b"a,b\n1,2\n", "is no Parquet or Arrow file"),
        ("d.parquet", b"PAR1 and no more", "is no Parquet or Arrow file"),
        ("d.arrow", b"", "is no Parquet or Arrow file"),
        *((f"d{s}", b"x", "first|place|folder") for s in (".json", ".dta", ".mat", ".dcm", ".rds")),
        ("d.xls", b"x", "is a workbook"),
        (
            "d.csv",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "is a workbook under another name",
        ),
        ("d.csv", b"PAR1\x15\x04\x15" + bytes(90), "is a .parquet file under another name: rename"),
        ("d.csv", b"\x89HDF\r\n\x1a\n" + bytes(90), "is a file of arrays under another name"),
        ("d.txt", b"SQLite format 3\0" + bytes(90), "is a database under another name"),
        ("d.csv", b"%PDF-1.7\n%\xe2\xe3", "is a PDF"),
        ("d.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "pointer of Git"),
        ("d.csv", b'{"a": 1}\n{"a": 2}\n', "is JSON under another name"),
        ("d.csv", b"BZh91AY&SY" + bytes(90), "compressed with bzip2: unpack"),
        ("d.csv", bytes(range(256)) * 9, "line 1 has a byte of value 0"),
        (
            "d.csv",
            b"id age y\n" + b"1 34 a\n2 50 b\n",
            "line 1 .* 3 values each, separated by blanks",
        ),
        ("d.csv", b"id:age:y\n" + b"1:34:a\n2:50:b\n", "separated by colons"),
        ("d.csv", b"'id','y'\n'1','a'\n'2','b'\n", "line 1: the names stand in '"),
        ("d.csv", b'id,y\n1,a\n2,"i\\"l"\n', "line 3 has a backslash before a quote"),
        ("d.doc", b"x", "save it as `CSV UTF-8` or Parquet"),
    ],
    # Archives hold the time: names made of their bytes would differ between pytest's workers.
    ids=lambda value: "content" if isinstance(value, bytes) else None,
)
def test_what_is_refused_and_how(read, name, content, said):
    with pytest.raises(DataError, match=said) as refused:
        read(content, name)
    # Nothing of a library's own: its options, its classes.
    words = str(refused.value).lower()
    assert not any(word in words for word in ("pyarrow", "csv parse error", "newlines_in_values"))


@given(st.binary(max_size=400), st.sampled_from(["d.csv", "d.tsv.gz", "d.parquet", "d.arrow"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(content)
    try:
        files.describe(files.read(path), "data.d")
    except DataError as error:
        said = str(error)
    else:
        return
    assert str(path) in said


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12), st.sampled_from(",;\t|"))
def test_any_texts_come_back(tmp_path_factory, rows, separator):
    """Quoted by Python's csv module, behind a text that keeps the columns from being numbers."""
    path = tmp_path_factory.mktemp("texts") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("left", "right"), ("word", "word"), *rows])
    table = files.read(path).table.to_pydict()
    assert list(zip(table["left"], table["right"], strict=True)) == [("word", "word"), *rows]
