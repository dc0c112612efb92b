"""`rooflight compare`: forms, options, exit statuses, and bad questions in words."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight

CARDS = ("--on", "h100-sxm,h200-sxm")
ASKED = ("compare", "8b", *CARDS, "--isl", "1155", "--osl", "211", "--batch", "32")


def test_text_starts_with_one_plain_sentence(ask):
    result = ask(*ASKED)
    assert result.exit_code == 0
    said = " ".join(result.stdout.split("\n\n")[0].split())
    assert said.startswith("For 1,155 tokens in and 211 out at batch 32, h200-sxm and h100-sxm are too close to call ")
    assert "Times of a request (1,155 tokens in, 211 out)" in result.stdout
    assert "Who wins at which number of input tokens per output token, 1,366 tokens in all" in result.stdout


def test_json_is_the_librarys_answer(ask, models):
    result = ask(*ASKED, "--json")
    wanted = rooflight.compare(models["8b"], ["h100-sxm", "h200-sxm"], isl=1155, osl=211, batch=32)
    assert json.loads(result.stdout) == json.loads(json.dumps(wanted.to_dict()))


def test_csv_has_a_row_a_deployment(ask):
    result = ask("compare", "70b", "--on", "h100-sxm,2xh100-sxm", "--on", "2xh200-sxm", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["label"] for row in rows] == ["h100-sxm", "2 x h100-sxm", "2 x h200-sxm"]
    assert [row["fits"] for row in rows] == ["false", "true", "true"]
    assert rows[0]["request.time_s.expected"] == ""
    assert float(rows[1]["request.speed_up.expected"]) == 1
    assert "curves" not in result.stdout


def test_markdown(ask):
    result = ask(*ASKED, "--format", "md")
    assert result.stdout.startswith("**For 1,155 tokens")
    assert "| --- |" in result.stdout or "|---|" in result.stdout.replace(" ", "")


def test_a_file_of_the_answer(ask, tmp_path):
    path = tmp_path / "answer.json"
    result = ask(*ASKED, "-o", str(path))
    assert "written to" in result.stdout
    assert json.loads(path.read_text())["schema"] == "rooflight.comparison/1"


def test_a_log_prices_and_the_largest_batch(ask, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("isl,osl\n1000,100\n2000,10\nbad,1\n", encoding="utf-8")
    words = ("compare", "8b", *CARDS, "--log", str(log), "--batch", "max", "--price", "h100=2.5,h200-sxm=$3.50")
    answer = json.loads(ask(*words, "--for", "cost", "--json").stdout)
    assert answer["mix"]["requests"] == 2
    assert answer["mix"]["bad_rows"] == 1
    assert answer["objective"] == "cost"
    assert [one["hardware"]["price_usd_per_hour"] for one in answer["compared"]] == [2.5, 3.5]
    assert all(one["batch"] == one["memory"]["max_batch"] for one in answer["compared"])


def test_a_log_from_standard_input(process):
    done = process(*ASKED[:4], "--log", "-", "--json", input=b"isl,osl\n5,6\n7,8\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mix"]["requests"] == 2


def test_columns_by_name(ask, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("a,b,c\n1000,100,500\n", encoding="utf-8")
    answer = json.loads(ask("compare", "8b", *CARDS, "--log", str(log), "--log-columns", "a, b,c", "--json").stdout)
    assert answer["mix"]["cached_prefix"] == 500


def test_rows_of_layouts_and_formats(ask):
    result = ask("compare", "8b", "--on", "4xh100-sxm", "--tp", "1,4", "--weights", "bf16,fp8", "--json")
    assert [one["label"] for one in json.loads(result.stdout)["compared"]] == [
        "4 x h100-sxm tp 1 bf16", "4 x h100-sxm tp 1 fp8", "4 x h100-sxm tp 4 bf16", "4 x h100-sxm tp 4 fp8",
    ]  # fmt: skip


def test_exit_status_says_whether_anything_fits(ask):
    assert ask("compare", "70b", "--on", "h100-sxm,2xh200-sxm").exit_code == 0
    nowhere = ask("compare", "70b", "--on", "h100-sxm,l4")
    assert nowhere.exit_code == 1
    assert "None of the 2 deployments holds it" in nowhere.stdout
    assert ask("compare", "70b", "--on", "h100-sxm,l4", "--ignore-capacity").exit_code == 0


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "no accelerator was named"),
        (("--on", "h100,,h200"), "a name is empty"),
        (("--on", "h1000"), "no accelerator is called"),
        ((*CARDS, "--batch", "many"), "'many' is not a number"),
        ((*CARDS, "--batch", "0"), "batch must be a whole number"),
        ((*CARDS, "--price", "h100"), "'h100' is no price"),
        ((*CARDS, "--price", "=2"), "'=2' is no price"),
        ((*CARDS, "--price", "h100=much"), "'much' is no amount"),
        ((*CARDS, "--price", "h100=1", "--price", "h100=2"), "h100 has two prices"),
        ((*CARDS, "--price", "l4=2"), "which is not compared"),
        ((*CARDS, "--for", "cost"), "without prices"),
        ((*CARDS, "--for", "fun"), "'fun' is not one of"),
        ((*CARDS, "--log", "no-such-file.csv"), "there is no file"),
        ((*CARDS, "--log-columns", "a,b"), "there is no log"),
        ((*CARDS, "--isl", "1,2"), "'1,2' is not a number"),
    ],
)
def test_a_bad_question_is_answered_in_words(ask, words, said):
    result = ask("compare", "8b", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_the_answer_does_not_overwrite_the_log(ask, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("isl,osl\n1,2\n", encoding="utf-8")
    result = ask("compare", "8b", *CARDS, "--log", str(log), "-o", str(log))
    assert result.exit_code == 2
    assert log.read_text() == "isl,osl\n1,2\n"


def test_a_fact_missing_for_all_of_them(ask, tmp_path):
    card = tmp_path / "bare.toml"
    card.write_text('id = "bare"\nname = "bare"\nvendor = "x"\nfamily = "Hopper"\nkind = "gpu"\n', encoding="utf-8")
    assert ask("compare", "8b", "--on", str(card)).exit_code == 3
    assert ask("compare", "8b", "--on", f"{card},h100-sxm").exit_code == 0


def test_completion_offers_accelerators_after_commas(process):
    env = {
        "_ROOFLIGHT_COMPLETE": "bash_complete",
        "COMP_WORDS": "rooflight compare m --on h100-sxm,h20",
        "COMP_CWORD": "4",
    }
    code = "import rooflight.cli, sys; sys.argv = ['rooflight']; sys.exit(rooflight.cli.main())"
    done = process(code=code, env=env)
    assert b"h100-sxm,h200-sxm" in done.stdout


def test_lines_of_a_log_that_are_not_read_show_in_the_exit_status(ask, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('isl,osl,note\n7,3,a\n9,"0,a\n8,8,b\n')
    result = ask("compare", "8b", "--on", "h100-sxm", "--log", str(path), "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 2
    assert (document["mix"]["requests"], document["mix"]["bad_rows"], document["mix"]["lost_lines"]) == (1, 2, 2)
    assert any("lines 3 to 4 are not read" in note for note in (*document["warnings"], *document["assumptions"]))
