"""What a release consists of besides the code agrees with it."""

import re
from pathlib import Path

import yaml

import mvl

ROOT = Path(__file__).parents[1]


def test_the_citation_is_of_this_version():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["version"] == mvl.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= set(found)
    assert found["references"][0]["authors"][0] == {"family-names": "Viswanath", "given-names": "Hrishikesh"}


def test_the_changes_begin_with_the_next_version():
    versions = re.findall(r"^## (\S+)( \(unreleased\))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert versions[0][1]
    assert mvl.__version__ in {number for number, _ in versions}


def test_publishing_tests_what_it_publishes_and_needs_no_secret():
    text = (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text
    scripts = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert ".ci/wheel python" in scripts
    assert (ROOT / ".ci" / "wheel").stat().st_mode & 0o111
    assert ".ci/wheel" in (ROOT / ".ci" / "run").read_text()
    (tag,) = [script for script in scripts if "GITHUB_REF_NAME" in script]
    pattern = re.search(r'search\("(.*?)", open', tag)[1]
    assert re.search(pattern, (ROOT / "src" / "mvl" / "__init__.py").read_text(), re.M)[1] == mvl.__version__


def test_issue_templates_are_forms():
    forms = [yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    forms = [form for form in forms if "blank_issues_enabled" not in form]
    assert len(forms) == 3
    for form in forms:
        assert {"name", "description", "body"} <= set(form)
        assert len({part["id"] for part in form["body"]}) == len(form["body"])
