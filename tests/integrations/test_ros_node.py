"""The ROS 2 node of docs/pipelines.md, run with stand-ins for ROS, which is not installed here."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text()
NODE = next(
    code for code in re.findall(r"^```python by-hand\n(.*?)^```$", PAGE, re.M | re.S) if "rclpy" in code
)


class Node:
    """What the example needs of rclpy's node: parameters, publishers and subscriptions."""

    def __init__(self, name):
        self.parameters, self.published, self.callbacks = {}, {}, {}

    def declare_parameter(self, name, value):
        self.parameters.setdefault(name, SimpleNamespace(value=OVERRIDES.get(name, value)))
        return self.parameters[name]

    def get_parameter(self, name):
        return self.parameters[name]

    def create_publisher(self, kind, topic, depth):
        return SimpleNamespace(publish=lambda message: self.published.setdefault(topic, []).append(message))

    def create_subscription(self, kind, topic, callback, qos):
        self.callbacks[topic] = callback


class CvBridge:
    """Messages are arrays with an encoding and a header."""

    def imgmsg_to_cv2(self, message, encoding):
        assert encoding == "rgb8"
        return message.array

    def cv2_to_imgmsg(self, array, encoding, header):
        return SimpleNamespace(array=array, encoding=encoding, header=header)


OVERRIDES = {}


@pytest.fixture
def node(engine, model_file, monkeypatch):
    """The node of the page, as it is when it spins."""
    spun = []
    modules = {
        "rclpy": {"init": lambda: None, "spin": spun.append},
        "rclpy.node": {"Node": Node},
        "rclpy.qos": {"qos_profile_sensor_data": None},
        "cv_bridge": {"CvBridge": CvBridge},
        "sensor_msgs": {},
        "sensor_msgs.msg": {"Image": object},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(OVERRIDES, "model", str(model_file))
    monkeypatch.setitem(OVERRIDES, "budget_ms", 500.0)
    exec(compile(NODE, "pipelines.md", "exec"), {})
    return spun[0]


def test_an_image_gives_label_ids_and_confidence_with_its_header(node, streets):
    image = streets.split("val")[0].image
    node.callbacks["image"](SimpleNamespace(array=image, header="of frame 7"))
    [labels], [confidence] = node.published["labels"], node.published["confidence"]
    assert (labels.encoding, labels.array.dtype, labels.array.shape) == ("mono8", np.uint8, image.shape[:2])
    assert labels.array.max() < len(streets.classes)
    assert (confidence.encoding, confidence.array.dtype) == ("32FC1", np.float32)
    assert confidence.array.shape == image.shape[:2]
    assert labels.header == confidence.header == "of frame 7"


@pytest.mark.filterwarnings("ignore:a budget of")
def test_the_budget_is_a_parameter(node, streets):
    node.parameters["budget_ms"].value = 1e-6
    node.callbacks["image"](SimpleNamespace(array=streets.split("val")[0].image, header=None))
    assert len(np.unique(node.published["labels"][0].array)) == 1  # nothing but the prior


def test_the_page_says_what_was_not_tried():
    told = " ".join(PAGE.split())
    assert "have not run it on a robot" in told
    assert "ARM, macOS and Windows are untested" in told
