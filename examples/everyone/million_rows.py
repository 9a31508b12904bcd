"""
A million rows that are not in memory
=====================================

The rows are in a file, and there are more than one would like to load. The call is the
same: the search draws rows at random, as many as it takes to decide, and looks at others
before it stops.
"""

# %%
# One million simulated rows with 30 variables, written in twenty parts; eight of the
# variables matter.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlselect import REVS

rng = np.random.default_rng(0)
coefficients = np.zeros(30, dtype=np.float32)
coefficients[:8] = 0.5
names = [f"x{j}" for j in range(30)]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.parquet"
schema = pa.schema([(name, pa.float32()) for name in [*names, "y"]])
with pq.ParquetWriter(path, schema, compression="none") as writer:
    for _ in range(20):
        X = rng.standard_normal((50_000, 30), dtype=np.float32)
        y = X @ coefficients + rng.standard_normal(50_000, dtype=np.float32)
        writer.write_table(pa.table([*X.T, y], schema=schema))
print(f"{path.stat().st_size / 1e6:.0f} MB")

# %%
# The path takes the place of the table.
model = REVS(random_state=0).fit(str(path), "y")
print(f"{', '.join(model.get_feature_names_out())}; stopped: {model.stop_reason_}")
print(f"{model.n_rows_read_:,} rows read, {model.n_rows_seen_:,} seen, of 1,000,000")
smallest = np.nanmax(model.detectable_)
print(f"an effect of {smallest:.4f} standard deviations would have been seen")

# %%
# Where the rows went: the search doubles them until every variable is decided. Then it
# passes once over the others, without keeping them, for effects that the rows read could
# not show.
figure, ax = plt.subplots(figsize=(6.4, 2.2))
ax.barh(
    ["in the file", "looked at", "read by the search"],
    [1e6, model.n_rows_seen_, model.n_rows_read_],
)
ax.set(xscale="log", xlabel="rows", xlim=(1000, 2e6))

# %%
# Predictions come in parts as well, so that they need no memory either.
squares = n = 0
for part in model.predict(str(path)):
    squares, n = squares + np.sum(part**2), n + len(part)
print(f"{n:,} rows predicted, their standard deviation is {np.sqrt(squares / n):.2f}")
folder.cleanup()

# %%
# **The answer.** The eight variables, from a few percent of the rows and one look at the
# others. Folders, globs, CSV, LazyFrames of polars, relations of DuckDB and Dask
# collections work alike: :doc:`/howto/bigdata` and :doc:`/billion_rows`.
