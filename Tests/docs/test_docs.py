# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the pages in docs/ together with what they speak of: names, rule numbers, limits, statuses and links exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import project
import pytest
import segue.testing
from project import ROOT

HEADER = project.HEADER.read_text()
# The files that are committed, or about to be.
FILES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()
PAGES = [ROOT / name for name in FILES if name.endswith(".md") and (ROOT / name).is_file()]
NUMBERS = dict(re.findall(r"^#define SEGUE_LIMIT_(\w+) (\d+)$", HEADER, re.MULTILINE))
RULE = re.compile(r"\bR(\d+\.\d+)\b")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def names(text: str) -> set[str]:
    """The texts in code font, also in tables."""
    return set(re.findall(r"`([^`\n]+)`", text))


LIMITS = re.findall(r"^\| `SEGUE_LIMIT_(\w+)` \|.*\| (\d+) \|(.*)\|$", page("handoff.md"), re.MULTILINE)
CLAIMS = re.findall(r"^\| (?!claim|--)(.+) \| (.+) \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
every_page = pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])


def texts(paths: Iterable[str]) -> dict[str, str]:
    """Returns the files that are there, by name."""
    return {name: (ROOT / name).read_text(errors="replace") for name in paths if (ROOT / name).is_file()}


# Names


def test_every_member_of_nsuseractivity_is_in_the_page():
    listed = (ROOT / "Tests/docs/nsuseractivity.txt").read_text().splitlines()
    members = {line for line in listed if line and not line.startswith("#")}
    assert len(members) > 60
    first_cells = re.findall(r"^\| ([^|]+) \|", page("from-nsuseractivity.md"), re.MULTILINE)
    assert members <= names("\n".join(first_cells))


@pytest.fixture(scope="module")
def declared() -> set[str]:
    """Names of the header, and those that something reads: variables of the environment and the like."""
    others = texts(name for name in FILES if not name.endswith(".md")).values()
    found = set(re.findall(r"\bsegue_\w+|\bSEGUE_\w+", HEADER))
    return found | {name for text in others for name in re.findall(r"\bSEGUE_\w+", text)}


@every_page
def test_every_c_name_in_a_page_is_in_the_header(path, declared):
    named = set(re.findall(r"(?<![\w/.-])(?:segue|SEGUE)_\w+", path.read_text()))
    assert {name for name in named - declared if not name.endswith("_")} == set()


@every_page
def test_every_c_program_in_a_page_hears_of_its_failures(path):
    """R3.13: what opens an app sets a log callback."""
    for program in re.findall(r"^```c.*?\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        assert "segue_app_open(" not in program or "segue_log_set(" in program, program


@every_page
def test_every_c_program_in_a_page_ends_if_its_app_does_not_open(path):
    for program in re.findall(r"^```c.*?\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        assert re.findall(r"^ *segue_app_open\(", program, re.MULTILINE) == [], program


def test_the_first_examples_check_each_call():
    """Else a runtime folder that is not safe, or an empty type, would be silent."""
    program = re.search(r"^```c run background\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    header = HEADER.partition(" * CONCEPTS")[0]
    for example in (program[1].partition("int main")[2], header):
        assert re.findall(r"^(?: \*)? *segue_\w+\(.*", example, re.MULTILINE) == []
        assert len(re.findall(r"\bcheck\(segue_\w+\(", example)) >= 6


def test_every_c_example_hears_of_its_failures():
    """R3.13"""
    examples = [each for each in (ROOT / "bindings/c/examples").glob("*.c") if "segue_app_open(" in each.read_text()]
    assert len(examples) == 3
    assert [each.name for each in examples if "notes_follow_log();" not in each.read_text()] == []
    assert "segue_log_set(SEGUE_LOG_ERROR, notes_log" in (ROOT / "bindings/c/examples/notes.h").read_text()


def test_the_header_says_first_when_failures_are_silent():
    """R3.13"""
    comments = re.findall(r"/\*\*(.*?)\*/\s*(?:typedef[^;(]*\(\*(\w+)\))", HEADER, re.DOTALL)
    (comment,) = [re.sub(r"\s+\*? *", " ", each) for each, name in comments if name == "segue_did_fail_function"]
    first = comment.strip(" *").split(":")[0]
    assert first == (
        "Without this callback, and without a log callback (segue_log_set), failures of a C app are silent"
    )


SUBJECTS = [
    "`webpageURL`",
    "launch",
    "[agent]",
    "account",
    "push",
    "keeps being offered",
    "[manifest]",
    "`apple-app-site-association`",
    "NSUUID",
    "`scene(_:continue:)`",
    "iOS 27",
    "Xamarin",
    "one descriptor",
    "never a criterion",
    "No Android, no iOS",
    "Bluetooth: none",
]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_page_says_what_becomes_of_each_subject(subject):
    assert subject in page("from-nsuseractivity.md")


EXISTING = [
    "a plugin for another maker's program",
    "*level-triggered*",
    "A loop that defers",
    "gives BUSY",
    "*before* the activity becomes current",
    "## Lua",
    "*Flatpak*",
    "*Snap*",
    "has none of their names in it",
]


@pytest.mark.parametrize("subject", EXISTING)
def test_the_page_of_existing_programs_says_what_goes_wrong_in_them(subject):
    assert subject in page("existing-program.md")


SAFE = [
    "A manager that is taken over",
    "In memory private keys are locked and erased",
    "Landlock does not restrict them",
    "Share that folder read-only with sandboxes",
    "Every process of the user can read",
    "OpenSSL 3.0 or later",
    "5.11 is needed to launch programs",
]


@pytest.mark.parametrize("subject", SAFE)
def test_the_page_of_security_says_what_has_to_be_known(subject):
    assert subject in re.sub(r"\s+", " ", (ROOT / "SECURITY.md").read_text()).replace("**", "")


def test_every_name_of_net_leads_to_a_member_of_the_page():
    before, _, after = page("from-nsuseractivity.md").partition("## Names in .NET")
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|$", after, re.MULTILINE)
    assert len(rows) > 10
    for spelled, apple in rows:
        assert names(spelled)
        assert names(apple) <= names(before), apple


def test_every_python_name_in_the_page_is_in_the_package():
    found = 0
    for name in names(page("from-nsuseractivity.md").partition("## Names in .NET")[0]):
        head, _, attribute = name.partition(".")
        if re.fullmatch(r"[A-Z]\w*(\.\w+)?", name) and not name.startswith(("NS", "SEGUE", "UI", "CF")):
            found += 1
            assert hasattr(segue, head), name
            assert not attribute or hasattr(getattr(segue, head), attribute), name
    assert found > 40


# Rules, limits, statuses


def test_every_rule_that_is_named_anywhere_exists():
    rules = set(re.findall(r"^- \*\*R(\d+\.\d+)\*\*", page("handoff.md"), re.MULTILINE))
    assert len(rules) > 60
    read = texts(name for name in FILES if Path(name).suffix in (".md", ".swift", ".h", ".c", ".py", ""))
    unknown = {name: set(RULE.findall(text)) - rules for name, text in read.items() if ROOT / name != Path(__file__)}
    assert {name: numbers for name, numbers in unknown.items() if numbers} == {}


def test_every_limit_has_a_row():
    assert {name for name, _, _ in LIMITS} == set(NUMBERS)


@pytest.mark.parametrize(("name", "value", "span"), LIMITS, ids=[name for name, _, _ in LIMITS])
def test_the_limits_are_those_of_the_library(name, value, span):
    assert getattr(segue.limits, name.lower()) == int(value)
    comment = re.search(rf"/\*\*([^*]*)\*/\n#define SEGUE_LIMIT_{name} ", HEADER)
    assert comment is not None
    settable = re.search(r"settable (\d+)\.\.\.(\d+)", comment[1])
    assert re.findall(r"\d+", span) == (list(settable.groups()) if settable else [])


def test_every_status_has_a_row_with_what_to_do():
    rows = set(re.findall(r"^\| `(\w+)` \|", page("troubleshooting.md"), re.MULTILINE))
    assert rows == set(re.findall(r"^#define SEGUE_ERROR_(\w+) ", HEADER, re.MULTILINE))


# Building


@pytest.fixture(scope="module")
def installed() -> dict[str, set[str]]:
    """The Debian packages that a target asks for."""
    made = {}
    for target in ("deps-build", "deps"):
        said = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        made[target] = set(re.findall(r"for package in ([^;]*);", said)[0].split())
    return made


def test_a_build_needs_less_than_the_tests(installed):
    assert "libuv1-dev" in installed["deps-build"] and "valgrind" not in installed["deps-build"]
    assert installed["deps-build"] < installed["deps"]


def test_the_first_example_has_two_apps_whose_type_names_neither():
    front = (ROOT / "README.md").read_text().split("```text output")[0]
    apps = re.findall(r'(?:segue_app_create\(|segue\.App\()"([\w.]+)"', front)
    types = set(re.findall(r'(?:segue_activity_create\(app, |types=\[)"([\w.]+)"', front))
    assert len(apps) == len(set(apps)) == 2 and len(types) == 1
    words = types.pop().split(".")
    assert [app for app in apps if app.split(".")[-1] in words] == []
    assert re.search(r"\*team\*[^.]*\. A team is ", front), "defined where it is first used"


# The front of the README

FRONT = re.sub(r"<!--.*?-->", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def words(text: str) -> int:
    return len(re.findall(r"\w[\w'/.-]*", re.sub(r"\]\([^)]*\)", "]", text)))


def test_the_readme_says_at_once_what_it_is_and_how_to_install_it():
    """Title and text of the picture count, too."""
    sentence = re.match(r"# Segue\s+[^.]*\.", FRONT)
    assert sentence and words(sentence[0]) <= 30
    assert words(FRONT[: FRONT.index("sudo apt install")]) <= 60
    assert FRONT.index("](docs/demo.svg)") < FRONT.index("sudo apt install")


def test_the_readme_says_that_packages_are_compiled():
    line = next(line for line in FRONT.splitlines() if line.startswith("make deb"))
    assert "builds first" in line and re.search(r"Swift 6\.2", line)


def test_the_first_table_has_what_comes_along_with_each_kind_of_program():
    table = re.search(r"^\| program \| what comes along \| needs \|\n(?:\|.*\n)+", FRONT, re.MULTILINE)
    assert table
    rows = [line.split(" | ") for line in table[0].splitlines()[2:]]
    for kind in ("Firefox, Chromium", "Neovim", "media players", "your own program"):
        (row,) = [row for row in rows if kind in row[0]]
        assert len(row) == 3 and all(len(cell.strip(" |")) > 3 for cell in row)


def test_every_debian_package_that_the_readme_names_exists():
    made = re.findall(r"^Package: (\S+)$", (ROOT / "packaging/debian/control").read_text(), re.MULTILINE)
    named = set(re.findall(r"`((?:lib|webext-|python3-)segue\w*|segue-[a-z]+)`", FRONT))
    assert named and named <= {*made}


# Suites


def test_every_suite_has_a_row():
    rows = "\n".join(re.findall(r"^\| (`[^|]*) \|", (ROOT / "Tests/README.md").read_text(), re.MULTILINE))
    suites = re.findall(
        r'^    Suite\(\s*"(\w[\w-]*)"(.*?)\),$', (ROOT / "Tests/run").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(suites) > 30
    tested = {name for name, rest in suites if not re.search(r'"(fuzz|soak)"', rest) and "group=" not in rest}
    assert tested == names(rows)


# Security


def test_the_table_has_claims():
    assert len(CLAIMS) > 10


@pytest.fixture(scope="module")
def tests() -> dict[str, str]:
    return texts(name for name in FILES if name.startswith(("Tests/", "bindings/")))


@pytest.mark.parametrize(("claim", "held"), CLAIMS)
def test_every_test_that_holds_a_claim_exists(claim, held, tests):
    """And every claim of the table has one."""
    assert names(held)
    text = "\n".join(text for name, text in tests.items() if not name.endswith(".md"))
    for name in names(held) - set(tests):
        assert re.search(rf"\b(def|struct|class) {re.escape(name)}\b", text), name


ATTACKS = re.findall(
    r"^\| A(\d+) [^|]*\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", (ROOT / "Tests/README.md").read_text(), re.M
)


def test_every_attack_on_devices_has_tests_and_a_mutant(tests):
    numbers = [int(number) for number, *_ in ATTACKS]
    assert numbers == sorted(set(numbers)) and {*range(1, 27)} <= {*numbers}
    mutants = re.findall(r'^name = "(.*)"$', (ROOT / "Tests/mutants/written.toml").read_text(), re.MULTILINE)
    text = "\n".join(text for name, text in tests.items() if not name.endswith(".md"))
    for _, on_bytes, on_agents, _, broken in ATTACKS:
        assert names(on_bytes) and (names(on_agents) or on_agents == "the same")
        for name in names(on_bytes + on_agents) - {"fuzz"}:
            assert re.search(rf"\b(def|struct|class) {re.escape(name)}\b", text), name
        assert names(broken) and names(broken) <= set(mutants), broken


# Links


@every_page
def test_every_link_to_a_file_or_heading_of_ours_leads_there(path):
    for target in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", path.read_text()):
        link, _, anchor = (target[0] or target[1]).partition("#")
        if ":" in link:
            continue
        there = (path.parent / link) if link else path
        assert there.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings], link


@every_page
def test_no_page_names_a_path_of_one_machine(path):
    assert re.findall(r"(?<![\w.])/(?:home|root|work)/\w+", path.read_text()) == []


def test_the_index_lists_every_page_once():
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", page("README.md"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    here = {str(path.relative_to(ROOT / "docs")) for path in PAGES if path.is_relative_to(ROOT / "docs")}
    assert here - {"README.md"} <= set(listed)


def test_the_names_in_the_glossary_exist():
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page("glossary.md"), re.MULTILINE)
    assert len(rows) >= 9
    sources = "\n".join(texts(name for name in FILES if name.startswith("Sources/")).values())
    for python, swift in rows:
        for name in names(python):
            head, _, attribute = name.partition(".")
            assert hasattr(getattr(segue, head), attribute or "__name__"), name
        for name in names(swift):
            assert re.search(rf"\b(class|struct|enum|protocol) {name}\b", sources), name


@pytest.fixture(scope="module")
def code() -> str:
    """Everything but pages: what a page may name."""
    return "\n".join(texts(name for name in FILES if not name.endswith((".md", ".abi", ".svg"))).values())


@pytest.mark.parametrize(
    "path", [path for path in PAGES if path.name not in ("from-nsuseractivity.md", "CHANGELOG.md")]
)
def test_every_type_that_a_page_names_is_in_the_code(path, code):
    named = {name for name in names(path.read_text()) if re.fullmatch(r"[A-Z][a-z]+[A-Z]\w*(\.\w+)?", name)}
    assert {name for name in named for part in name.split(".") if not re.search(rf"\b{part}\b", code)} == set()
