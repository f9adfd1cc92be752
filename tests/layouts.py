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
            xparted="""20,2,,unsigned,at,,gauge,bytes,,
                       22,2,,unsigned,size,,gauge,bytes,,
                       24,8,,clock,taken,,time,,,
                       at,size,,part,inside,,,,,
                       inside+0,4,,signed,number,,gauge,count,,
                       inside+4,2,,counted,label,,text,,,
                       label+0,3,,packed,digits,,text,,,
                       label+3,2,,reserved,*,,,,,""",
            xsynced="""20,4,,unsigned,before,,sync,,,
                       24,2,,guest,function,,slot,,,
                       26,4,,unsigned,after,,sync,,,""",
            xviews="""20,8,,unsigned,whole,,gauge,bytes,,
                      20,4,,unsigned,high,whole,gauge,bytes,,
                      24,4,,unsigned,low,whole,gauge,bytes,,
                      28,3,,bits,odd,,flag,,,
                      31,1,,bits,even,,flag,,,
                      28,1,,bit,first,odd,flag,,,,80
                      30,1,,bit,last,odd,flag,,,,03""",
            xlabels="""20,2,,unsigned,id,,key,,,
                       22,4,3,group,code,,,,,
                       22,4,,unsigned,one,code,counter,count,,,X'01'
                       30,4,,unsigned,three,code,counter,count,,""",
            xlabels_code="0,4,,unsigned,many,,counter,count,,",
            xproduct="""20,2,,signed,at,,gauge,bytes,,
                        22,2,,signed,size,,gauge,bytes,,
                        24,4,,bits,product,,flag,,,
                        24,3,,guest,name,product,key,,,
                        28,4,,unsigned,only,,gauge,count,,
                        at,size,1,group,text,xproduct_text,,,,,product=D3C9
                        at,size,1,group,other,xproduct_text,,,,,only=01""",
            xproduct_text="""0,4,,unsigned,sync,,counter,count,,
                             4,2,,unsigned,many,,gauge,count,,
                             6,2,,unsigned,size,,gauge,bytes,,
                             8,2,,unsigned,first,,gauge,bytes,,
                             first,size,many,group,cpu,xproduct_cpu,,,,""",
            xproduct_cpu="""0,4,,unsigned,user,,counter,count,,
                            4,4,,unsigned,nice,,counter,count,,""",
            xtext="""20,2,,unsigned,size,,gauge,bytes,,
                     22,rest,,char,said,,text,,,""",
            xbytes="""20,2,2,group,block,,,,,""",
            xbytes_block="0,rest,,bits,data,,flag,,,",
            xrest="""20,1,,unsigned,many,,gauge,count,,
                     21,rest,many,group,item,,,,,""",
            xrest_item="0,2,,unsigned,id,,gauge,id,,",
            xreplaced="""20,4,,unsigned,old,,gauge,count,,5.1.0
                         20,2,,unsigned,newer,,gauge,count,5.2.0,
                         22,2,,unsigned,newest,,gauge,count,5.3.0,
                         24,4,,unsigned,always,,gauge,count,,
                         28,2,3,group,gone,,,,,4.4.0
                         34,2,2,group,pair,,,,,""",
            xreplaced_gone="0,2,,unsigned,value,,gauge,count,,",
            xreplaced_pair="""0,2,,unsigned,former,,gauge,count,,5.1.0
                              0,1,,unsigned,left,,gauge,count,5.2.0,
                              1,1,,unsigned,right,,gauge,count,5.2.0,""",
            xservice="""20,4,,unsigned,first,,gauge,count,,7.3.0-callevel.5.9
                        20,4,,signed,second,,gauge,count,7.3.0+callevel.5,7.3.0-callevel.9
                        20,2,,unsigned,third,,gauge,count,7.3.0+callevel.9,
                        24,4,,unsigned,always,,gauge,count,,
                        26,2,,unsigned,half,always,gauge,count,7.2.0,""",
        )
    )
)
