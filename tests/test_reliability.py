"""The page on reliability shows the counts that the attacks wrote, of every case and target."""

import json

import fuzz
import reliability
import soak


def test_its_tables_are_the_counts():
    text = reliability.PAGE.read_text()
    assert reliability.page(text) == text
    assert [text.count(f"<!-- from {name}.json -->") for name in reliability.HEADS] == [1, 1]


def test_every_case_and_target_was_tried_and_nothing_was_lost():
    cases, targets = (json.loads((reliability.COUNTS / f"{name}.json").read_text()) for name in reliability.HEADS)
    assert {row["case"] for row in cases if row["tried"]} == set(soak.CASES)
    assert {row["target"] for row in targets if row["refused"]} == set(fuzz.TARGETS)
    assert not any(row["failed"] for row in cases) + any(row["wrong"] for row in targets)


def test_a_number_that_was_changed_by_hand_is_noticed():
    text = reliability.PAGE.read_text()
    changed = text.replace("| together | ", "| together | 9", 1)
    assert changed != text
    assert reliability.page(changed) == text
