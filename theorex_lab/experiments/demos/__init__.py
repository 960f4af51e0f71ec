"""The document's three demos: an agent without and with memory, scripted or played by a model, beside the published figures."""

from theorex_lab.experiments.demos.run import DEMOS as DEMOS
from theorex_lab.experiments.demos.run import DemoReport as DemoReport
from theorex_lab.experiments.demos.run import run_demo as run_demo
