"""Tables of a store with their meaning, queries by name with fields, and names for the box."""

from __future__ import annotations

import json
import re

from tests.serve.conftest import Server


def test_tables_and_columns_have_their_meaning(server: Server):
    every = server.get("tables").text
    assert 'href="tables?table=users_by_time"' in every
    assert 'href="tables?table=monitor.sytprp"' in every
    one = server.get("tables", table="users_by_time").text
    assert "<code>userid</code>" in one and "User id." in one
    assert "query?sql=SELECT%20%2A%20FROM%20users_by_time%20LIMIT%20100" in one
    assert server.get("tables", table="<b>").status == 404
    names = json.loads(server.get("names").body)
    assert "total_util" in names["system_summary_by_time"]


def test_a_query_by_its_name_has_a_field_for_each_parameter(server: Server):
    assert 'name="p_top" value="5"' in server.get("tables").text
    asked = server.get("query", name="top-users", p_top="3")
    assert asked.status == 200
    assert 'name="p_top" value="3"' in asked.text
    few = server.get("query", name="top-users", p_top="1").text
    assert len(re.findall("<tr><td", few)) < len(re.findall("<tr><td", asked.text))
    assert 'href="object?kind=user' in asked.text
    wrong = server.get("query", name="top-users", p_top="x")
    assert wrong.status == 400 and "parameter top" in wrong.text
    assert server.get("query", name="nosuch").status == 400


def test_the_parameters_of_typed_sql_are_fields(server: Server):
    sql = "-- param: n = 2 -- how many\nselect range from range($n)"
    assert "2 rows" in server.get("query", sql=sql).text
    assert "5 rows" in server.get("query", sql=sql, p_n="5").text
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    page = server.get("query", {**foreign, "Sec-Fetch-Dest": "document"}, name="top-users")
    assert "Read it, then run it" in page.text
    assert 'id="answer"' not in page.text


def test_an_answer_is_a_picture_or_data_and_says_how_long_it_took(server: Server):
    sql = "select interval_end, total_util from system_summary_by_time"
    assert server.get("query.png", sql=sql).body[1:4] == b"PNG"
    assert server.get("query.png", sql="select 1").status == 400
    assert json.loads(server.get("query.json", sql="select 1 as a").body) == [{"a": 1}]
    assert " s.</p>" in server.get("query", sql=sql).text
