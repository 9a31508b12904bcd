"""
Which part of a picture does a reader look at?
==============================================

Is this a three, a five, an eight or a nine? Nobody looks at all 64 pixels. Here, blocks of
two by two pixels are bought, and only those that are needed for *this* picture.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rlselect import DatumwiseClassifier

digits = load_digits()
some = np.isin(digits.target, [3, 5, 8, 9])
X, y = digits.data[some], digits.target[some].astype(str)
train, test, y_train, y_test = train_test_split(
    X, y, train_size=300, random_state=0, stratify=y
)

# %%
# Sixteen blocks, a price for each.
pixels = np.arange(64).reshape(8, 8)
corners = [(i, j) for i in range(0, 8, 2) for j in range(0, 8, 2)]
blocks = {
    f"{i} down, {j} right": pixels[i : i + 2, j : j + 2].ravel().tolist()
    for i, j in corners
}
model = DatumwiseClassifier(
    scoring="bins", feature_groups=blocks, feature_cost=0.01, random_state=0
)
model.fit(train, y_train)
looked = model.acquire(test)
n_blocks = looked.sum(axis=1).mean() / 4
print(f"accuracy {model.score(test, y_test):.2f}, {n_blocks:.1f} of 16 blocks per picture")

# %%
# Eight pictures: above as they are, below what was looked at. The blue was never seen by
# the model.
figure, axes = plt.subplots(2, 8, figsize=(10, 3.1))
answers = model.predict(test)
for k, (above, below) in enumerate(axes.T):
    picture = test[k].reshape(8, 8)
    above.imshow(picture, cmap="gray_r")
    above.set_title(f"a {y_test[k]}")
    below.imshow(
        np.where(looked[k].reshape(8, 8), picture, np.nan), cmap="gray_r", vmin=0, vmax=16
    )
    below.set_facecolor("lightsteelblue")
    below.set_title(f"says {answers[k]}")
    for ax in (above, below):
        ax.set(xticks=[], yticks=[])

# %%
# How often is each block looked at?
figure, ax = plt.subplots(figsize=(4, 3.2))
image = ax.imshow(looked.mean(axis=0).reshape(8, 8), cmap="cividis", vmin=0, vmax=1)
ax.set(xticks=[], yticks=[])
figure.colorbar(image, label="share of pictures")

# %%
# **The answer.** The middle, where strokes are open or closed; the rim is looked at in
# doubt only.
