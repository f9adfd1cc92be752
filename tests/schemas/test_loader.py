from __future__ import annotations

import pytest

from cpmon.core.errors import LayoutError
from cpmon.schemas.loader import build
from tests.layouts import sources


def refused(**files: str) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        build(sources(**files))
    return caught.value


def test_two_fields_on_the_same_bytes_are_refused_unless_one_is_a_view():
    error = refused(x="20,4,,unsigned,a,,gauge,count,,\n22,4,,unsigned,b,,gauge,count,,")

    assert error.problem == "x.b overlaps a"
    assert "at least 24" in (error.expected or "")


def test_a_field_inside_the_header_is_refused():
    assert "overlaps the record header" in refused(x="16,8,,tod,a,,time,,,").problem


def test_a_view_lies_inside_its_field():
    error = refused(x="20,4,,unsigned,a,,gauge,count,,\n22,4,,unsigned,b,a,gauge,count,,")

    assert error.problem == "x.b is no part of a"


def test_an_unknown_type_is_named_with_the_known_ones():
    error = refused(x="20,4,,unsinged,a,,gauge,count,,")

    assert error.found == "unsinged"
    assert "unsigned" in (error.expected or "")


def test_a_field_without_role_is_refused():
    assert refused(x="20,4,,unsigned,a,,,count,,").problem == "x.a has no role"


def test_a_number_of_three_bytes_is_refused():
    assert "machine width" in refused(x="20,3,,unsigned,a,,gauge,count,,").problem


def test_a_group_without_entry_layout_is_refused():
    assert refused(x="20,4,2,group,g,,,,,").problem == "group x_g has no layout file"


def test_a_group_located_by_text_is_refused():
    error = refused(
        x="20,4,,char,a,,text,,,\na,4,2,group,g,,,,,",
        x_g="0,4,,unsigned,v,,gauge,count,,",
    )

    assert "located by a" in error.problem


def test_an_offset_counts_from_a_part_or_text_of_its_file():
    error = refused(x="20,2,,unsigned,size,,gauge,bytes,,\nname+0,2,,unsigned,more,,gauge,count,,")

    assert (error.problem, error.found) == ("x: offsets count from no text or part", "name")


def test_nothing_of_a_fixed_place_stands_behind_a_text():
    error = refused(x="20,2,,counted,name,,text,,,\n22,2,,unsigned,more,,gauge,count,,")

    assert "x.name is not the last field" in error.problem


def test_a_part_is_located_by_numbers():
    error = refused(
        x="20,2,,char,at,,text,,,\n22,2,,unsigned,size,,gauge,bytes,,\n"
        "at,size,,part,inside,,,,,\ninside+0,2,,unsigned,more,,gauge,count,,"
    )

    assert error.problem == "x: a part is located by at, no number"


def test_one_row_says_where_the_bytes_behind_it_begin():
    error = refused(x="20,2,,counted,name,,text,,,\n22,2,,counted,other,,text,,,")

    assert "two rows say" in error.problem
