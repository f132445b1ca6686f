"""Ways to spell XML and its attributes that OpenVINO reads."""

from __future__ import annotations

from tests.model.openvino.ir_text import ADD, ADDED, IR, unary

_TEXT = str(ADDED.xml)
_NO_DECLARATION = _TEXT.partition("\n")[2]
_LAYERS, _EDGES = _TEXT.partition("<layers>")[2].partition("</layers>")[0], _TEXT.partition("<edges>")[2]
_EDGES = _EDGES.partition("</edges>")[0]

SYNTAX: dict[str, IR] = {
    "as usual": ADDED,
    "no declaration": IR(_NO_DECLARATION),
    "byte order mark": IR(b"\xef\xbb\xbf" + _TEXT.encode()),
    "byte order mark without declaration": IR(b"\xef\xbb\xbf" + _NO_DECLARATION.encode()),
    "declared encoding": ADDED.but('<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'),
    "carriage returns": IR(_TEXT.replace("\n", "\r\n")),
    "no line ends": IR(_TEXT.replace("\n", "")),
    "single quotes": IR(_TEXT.replace('"', "'")),
    "blanks in tags": IR(_TEXT.replace("/>", "  />").replace("</layer>", "</layer >")),
    "blank in the last tag": ADDED.but("</net>", "</net >"),
    "comments": ADDED.but("<layers>", "<!-- one --><layers><!-- <layer id='0'> -->").but("<edges>", "<edges><!--2-->"),
    "comments in a layer": ADDED.but("<data auto", "<!-- in --><data auto").but("</net>", "<!-- end --></net>"),
    "comment before the root": ADDED.but("<net ", "<!-- <net> --><net "),
    "comment after the root": ADDED.but("</net>", "</net>\n<!-- that was all -->"),
    "comment with the closing tag after the root": ADDED.but("</net>", "</net>\n<!-- </net> -->"),
    "processing instruction": ADDED.but("<layers>", "<?tool x='1'?><layers>"),
    "namespace": ADDED.but('<net name="n"', '<net xmlns="http://example.org/ir" name="n"'),
    "unused namespace": ADDED.but('<net name="n"', '<net xmlns:a="http://example.org/a" name="n"'),
    "edges first": IR(
        _NO_DECLARATION.replace(
            f"<layers>{_LAYERS}</layers>\n<edges>{_EDGES}</edges>",
            f"<edges>{_EDGES}</edges>\n<layers>{_LAYERS}</layers>",
        )
    ),
    "rt_info first": ADDED.but("<rt_info/>", "").but("<layers>", '<rt_info><a value="1"/></rt_info><layers>'),
    "no rt_info": ADDED.but("<rt_info/>", ""),
    "no net name": ADDED.but('name="n" ', ""),
    "empty net name": ADDED.but('name="n"', 'name=""'),
    "UTF-8 names": ADDED.but('name="c"', 'name="größe 日本 \N{GRINNING FACE}"').but('name="n"', 'name="é"'),
    "character references": ADDED.but('name="c"', 'name="a&#10;b&#x9;&amp;&lt;&gt;&quot;&apos;&#233;"'),
    "raw line end in a name": ADDED.but('name="c"', 'name="a\nb\tc"'),
    "empty layer name": ADDED.but('name="c"', 'name=""'),
    "no names in ports": ADDED.but('names="add2"', "").but('names="relu3"', ""),
    "one name for all layers": IR(_TEXT.replace('name="c"', 'name="x"').replace('name="add2"', 'name="x"')),
    "no weights needed": unary("ReLU"),
    "empty weights": unary("ReLU").holding(b""),
    "unused weights": unary("ReLU").holding(b"abc"),
}

UNKNOWN: dict[str, IR] = {
    "attribute of net": ADDED.but('<net name="n"', '<net invented="&lt;1" name="n"'),
    "attribute of a layer": ADDED.but('name="c"', 'name="c" invented="1"'),
    "attribute of data": ADDED.but(ADD, f'{ADD} invented="[a, b]"'),
    "attribute of a Const": ADDED.but('offset="0"', 'offset="0" invented="1"'),
    "attribute of a Parameter": ADDED.but('shape="2,3"', 'invented="a" shape="2,3"'),
    "data of a Result": ADDED.but(
        '<layer id="4" name="y" type="Result" version="opset1">',
        '<layer id="4" name="y" type="Result" version="opset1"><data invented="1"/>',
    ),
    "attribute of a port": ADDED.but('names="add2"', 'names="add2" invented="1"'),
    "element in net": ADDED.but("</net>", '<invented a="1"><b>text</b></invented></net>'),
    "element in a layer": ADDED.but("<data auto", '<invented a="1"><b c="d"/></invented><data auto'),
    "element in a port": ADDED.but('names="add2"/>', 'names="add2"><invented a="1"/></port>'),
    "element after data": ADDED.but(f"<data {ADD}/>", f'<data {ADD}/><blobs><custom a="1"/></blobs>'),
    "statistics": ADDED.but("<rt_info/>", '<statistics><layer name="c" min="1"/></statistics><rt_info/>'),
    "model metadata": ADDED.but(
        "<rt_info/>",
        '<meta_data><MO_version value="2021.4"/><cli_parameters><framework value="onnx"/></cli_parameters></meta_data>',
    ),
    "quantization parameters": ADDED.but(
        "<rt_info/>",
        "<quantization_parameters><config>{'a': 1}</config><version value=\"1\"/></quantization_parameters>",
    ),
}

_RT = '<attribute name="fused_names" version="0" value="a,b"/>'
RT_INFO: dict[str, IR] = {
    "of a layer": ADDED.but("<data auto", f"<rt_info>{_RT}</rt_info><data auto"),
    "unknown, of a layer": ADDED.but(
        "<data auto", '<rt_info><attribute name="invented" version="3" x="1"/></rt_info><data auto'
    ),
    "user data": ADDED.but("<data auto", '<rt_info><user_data name="k" value="&lt;v" version=""/></rt_info><data auto'),
    "of an output": ADDED.but(
        'names="add2"/>', 'names="add2"><rt_info><attribute name="layout" version="0" layout="[N,C]"/></rt_info></port>'
    ),
    "of an input": ADDED.but(
        '<input><port id="0" precision="FP32"/><port',
        f'<input><port id="0" precision="FP32"><rt_info>{_RT}</rt_info></port><port',
    ),
    "of a Parameter": ADDED.but(
        'names="x"/>', 'names="x"><rt_info><attribute name="layout" version="0" layout="[N,...]"/></rt_info></port>'
    ),
    "of the model": ADDED.but(
        "<rt_info/>",
        '<rt_info><flag value="YES"/><info name="1 odd" value="&quot;"/>'
        '<deep><er><a value="1 2"/></er></deep></rt_info>',
    ),
    "text in that of the model": ADDED.but("<rt_info/>", "<rt_info><a>text</a><b/></rt_info>"),
    "of a constant": ADDED.but(
        '<layer id="1" name="c" type="Const" version="opset1">',
        f'<layer id="1" name="c" type="Const" version="opset1"><rt_info>{_RT}</rt_info>',
    ),
}
