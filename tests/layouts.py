"""Invented layouts that say what the vocabulary can and no shipped record says yet."""

from __future__ import annotations

from cpmon.schemas.loader import Sources, build

HEAD = ("offset", "length", "count", "type", "name", "of", "role", "unit", "since", "until")
SILENT = {"code": "", "provenance": "inferred", "meaning": ""}


def sources(**files: str) -> Sources:
    """Layout files as text: one line a row, with the columns of HEAD and, perhaps, a code."""
    rows = {
        name: [
            {**SILENT, **dict(zip((*HEAD, "code"), line.split(","), strict=False))}
            for line in text.split()
        ]
        for name, text in files.items()
    }
    records = [
        {
            "domain": "12",
            "record": str(number),
            "dsect": name,
            "kind": "sample",
            "grain": "",
            "keys": " ".join(r["name"] for r in found if r["role"] == "key"),
            "title": f"Invented record {number}",
            "provenance": "inferred",
        }
        for number, (name, found) in enumerate(rows.items())
        if "_" not in name
    ]
    return Sources(records, [], rows)


INVENTED = tuple(
    build(
        sources(
            xarray="""20,2,,unsigned,id,,key,,,
                      22,2,5,group,half,,,,,
                      32,4,,signed,last,,gauge,count,,""",
            xarray_half="0,2,,unsigned,half,,counter,count,,",
            xcounted="""20,1,,unsigned,many,,gauge,count,,
                        21,3,,packed,digits,,text,,,
                        24,6,many,group,item,,,,,""",
            xcounted_item="""0,4,,char,name,,text,,,
                             4,2,,unsigned,value,,gauge,count,,""",
            xlocated="""20,2,,signed,at,,gauge,bytes,,
                        22,2,,unsigned,size,,gauge,bytes,,
                        24,1,,unsigned,first,,gauge,count,,
                        25,1,,unsigned,second,,gauge,count,,
                        26,2,,reserved,*,,,,,
                        at,size,first,group,one,,,,,
                        28,12,second,group,two,,,,,""",
            xlocated_one="""0,8,,timer,time,,counter,tod,,
                            8,4,,unsigned,count,,counter,count,,
                            12,5,,bits,flags,,flag,,,""",
            xlocated_two="0,12,,char,text,,text,,,",
            xviews="""20,8,,unsigned,whole,,gauge,bytes,,
                      20,4,,unsigned,high,whole,gauge,bytes,,
                      24,4,,unsigned,low,whole,gauge,bytes,,
                      28,3,,bits,odd,,flag,,,
                      31,1,,bits,even,,flag,,,""",
        )
    )
)
