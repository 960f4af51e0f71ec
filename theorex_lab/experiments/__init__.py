"""The lab: data, replay, scores and drawing."""
