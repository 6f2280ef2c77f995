"""anyscene inside annotation tools: labels that people only have to correct."""
