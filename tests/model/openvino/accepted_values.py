"""Attributes, shapes and graphs that OpenVINO reads."""

from __future__ import annotations

from tests.model.openvino.ir_text import ADD, ADDED, IR, constant, net, operator, parameter, passed, result, unary

ATTRIBUTES: dict[str, IR] = {
    "no data": unary("Elu"),
    "empty data": unary("Elu", ""),
    "no data for Add": ADDED.but(f"<data {ADD}/>", ""),
    "upper-case enumeration": ADDED.but(ADD, 'auto_broadcast="NUMPY"'),
    **{
        f"float {text}": unary("Elu", f'alpha="{text}"')
        for text in ("1", "0.10000000149011612", "inf", "-inf", "nan", "-0", "1e+30", " 2", "1e-45")
    },
    **{
        f"bool {text!r}": net(
            [
                parameter(0, "x"),
                constant(1, "axis", "i64", "", 0, 8),
                operator(2, "ReduceSum", 2, f'keep_dims="{text}"'),
                result(3),
            ],
            "0.0-2.0 1.0-2.1 2.2-3.0",
        ).holding(bytes(8))
        for text in ("true", "True", "TRUE", "1", "false", "False", "0", "YES", "", "2")
    },
    **{f"integer {text!r}": unary("SoftMax", f'axis="{text}"') for text in ("1", " 1", "1.9", "0x1", "-0", "01", "1 ")},
    **{
        f"strides {text!r}": net(
            [
                parameter(0, "x", 'shape="1,1,4,4" element_type="f32"'),
                operator(
                    1,
                    "AvgPool",
                    1,
                    f'kernel="2, 2" strides="{text}" pads_begin="0, 0" pads_end="0, 0" '
                    'exclude-pad="true" auto_pad="explicit" rounding_type="floor"',
                ),
                result(2),
            ],
            "0.0-1.0 1.1-2.0",
        ).holding(None)
        for text in ("1, 1", "1,1", "1 , 1", "1,  1", "1, 1,", " 1,1")
    },
    **{f"type {kind}": unary(kind) for kind in ("relu", "RELU", "ReLU", "Relu", "ReLu")},
    **{f"version {version}": unary("ReLU", version=version) for version in ("opset1", "opset8", "opset13", "opset16")},
    "newer softmax": unary("SoftMax", 'axis="-1"', "opset8"),
    "type in capitals": ADDED.but('"Add"', '"ADD"'),
    "type in small letters": ADDED.but('"Add"', '"add"'),
}

SHAPES: dict[str, IR] = {
    **{
        f"shape {text!r}": passed(f'shape="{text}" element_type="f32"')
        for text in (
            "2,3",
            "2, 3",
            " 2 , 3 ",
            "?,3",
            "-1,3",
            "1..5,3",
            "..7,3",
            "3..,3",
            "...",
            "",
            "[2,3]",
            "[?,3]",
            "[]",
            "[...]",
            "5..1,3",
            "0,3",
            "0..0",
            "?",
        )
    },
    "no shape": passed('element_type="f32"'),
    "no element type": passed('shape="2,3"'),
    **{
        f"element type {name}": passed(f'shape="2,3" element_type="{name}"')
        for name in ("dynamic", "undefined", "boolean", "f64", "bf16", "i4", "u1", "nf4", "f8e8m0", "u6", "string")
    },
}


def _two_inputs_in_reverse() -> IR:
    layers = [result(9), operator(7, "Subtract", 2, ADD), parameter(30, "b"), parameter(4, "a"), result(1, "z")]
    return net(layers, "7.2-1.0 4.0-7.0 7.2-9.0 30.0-7.1").holding(None)


GRAPH: dict[str, IR] = {
    "layers in reverse": _two_inputs_in_reverse(),
    "edges in reverse": net(
        [parameter(0, "x"), operator(1, "ReLU"), operator(2, "Subtract", 2, ADD), result(3)],
        "2.2-3.0 1.1-2.1 0.0-2.0 0.0-1.0",
    ).holding(None),
    "huge ids": IR(
        str(ADDED.xml).replace('layer="2"', 'layer="4000000000"').replace('layer id="2"', 'layer id="4000000000"')
    ),
    "unused Parameter": ADDED.but("</layers>", parameter(9, "unused") + "</layers>"),
    "nodes that nothing needs": net(
        [parameter(0, "x"), operator(1, "ReLU"), operator(2, "Exp"), operator(3, "Sin"), result(4)],
        "0.0-1.0 1.1-4.0 0.0-2.0 2.1-3.0",
    ).holding(None),
    "one value twice": net(
        [parameter(0, "x"), operator(1, "Add", 2, ADD), result(2)], "0.0-1.0 0.0-1.1 1.2-2.0"
    ).holding(None),
    "several results of one port": net(
        [
            parameter(0, "x"),
            operator(1, "ReLU"),
            result(2, "a", 'output_names="a"'),
            result(3, "b"),
            result(4, "c", 'output_names="relu1,c,d\\,e"'),
        ],
        "0.0-1.0 1.1-2.0 1.1-3.0 1.1-4.0",
    ).holding(None),
    "a Result on a Parameter": net([parameter(0, "x"), result(1, "y", 'output_names="x,z"')], "0.0-1.0").holding(None),
}
