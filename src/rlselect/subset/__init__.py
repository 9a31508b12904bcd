"""For everyone: selectors of one subset of variables."""
