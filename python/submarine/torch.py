"""Training through dense CRFs with PyTorch: a differentiable mean field, and a certified likelihood.

Not imported by ``import submarine``; needs PyTorch 1.13 or later.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _core
from ._arrays import Number
from ._errors import InvalidInput
from ._kernels import features as feature_kernel
from ._keywords import checked_keywords
from ._models import DenseCrf, Metric
from ._solve import solve

torch: Any = importlib.import_module("torch")

__all__ = ["MeanField", "gaussian_filter", "certified_nll"]

_SMALL = 1024  # variables up to which pairs are enumerated, in the precision of the input


def _exact(features: Any, x: Any) -> Any:
    kernel = torch.exp(-0.5 * torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist") ** 2)
    kernel = kernel - torch.diag(torch.diagonal(kernel))
    return kernel @ x


class _Filter(torch.autograd.Function):  # type: ignore[misc]
    """sum_{b != a} exp(-|f_a - f_b|^2 / 2) x_b, and its gradients by the same filter."""

    @staticmethod
    def forward(ctx: Any, features: Any, x: Any, exact: bool) -> Any:
        ctx.exact = exact
        lattice = None if exact else _core.Filter(features.detach().cpu().numpy(), _core.default_memory())
        ctx.lattice = lattice
        out = _Filter.apply_kernel(features, x, lattice)
        ctx.save_for_backward(features, x, out)
        return out

    @staticmethod
    def apply_kernel(features: Any, x: Any, lattice: Optional[_core.Filter]) -> Any:
        if lattice is None:
            return _exact(features, x)
        return torch.from_numpy(lattice(x.detach().cpu().numpy())).to(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Tuple[Any, Any, None]:
        features, x, out = ctx.saved_tensors
        back = _Filter.apply_kernel(features, grad, ctx.lattice)  # the kernel is symmetric
        if not ctx.needs_input_grad[0]:
            return None, back, None
        # d/df_a of sum_ab g_a k_ab x_b = -sum_b k_ab (f_a - f_b) (g_a x_b + g_b x_a), summed over channels.
        channels, dimension = x.shape[1], features.shape[1]

        def moments(values: Any) -> Any:  # (N, channels, dimension): sum_b k_ab values_b f_b
            spread = (values[:, :, None] * features[:, None, :]).reshape(len(values), channels * dimension)
            return _Filter.apply_kernel(features, spread, ctx.lattice).reshape(-1, channels, dimension)

        own = ((grad * out).sum(1) + (x * back).sum(1))[:, None] * features
        others = (grad[:, :, None] * moments(x)).sum(1) + (x[:, :, None] * moments(grad)).sum(1)
        return others - own, back, None


@checked_keywords
def gaussian_filter(features: Any, x: Any, exact: Optional[bool] = None) -> Any:
    """sum_{b != a} exp(-|f_a - f_b|^2 / 2) x_b, differentiable in features and x.

    Parameters
    ----------
    features : tensor
        f, of shape (N, D), already divided by their sigmas.
    x : tensor
        Of shape (N, C).
    exact : bool, optional
        Whether all pairs are enumerated in the precision of the input, or the lattice sums in single precision; unless
        given, the former up to 1024 variables. Gradients with respect to features are those of the Gaussian.

    Returns
    -------
    tensor
        Of shape (N, C).

    Raises
    ------
    InvalidInput
        For other shapes.

    Examples
    --------
    >>> import torch
    >>> gaussian_filter(torch.zeros(3, 2), torch.tensor([[1.0], [2.0], [3.0]]))
    tensor([[5.],
            [4.],
            [3.]])
    """
    if features.dim() != 2 or x.dim() != 2 or len(features) != len(x):
        raise InvalidInput(
            f"features and x have shapes {tuple(features.shape)} and {tuple(x.shape)}, expected (N, D) and (N, C)"
        )
    return _Filter.apply(features, x, len(x) <= _SMALL if exact is None else exact)


class MeanField(torch.nn.Module):  # type: ignore[misc]
    """Mean field of a dense CRF as a layer: costs (batch, labels, height, width) to probabilities.

    Learnt, if trained: the weights of the position and the bilateral kernel, the (labels, labels) compatibility, and
    the logarithms of the three sigmas; gradients reach unaries and picture as well. There are no self terms.

    Parameters
    ----------
    labels : int
        How many there are.
    updates : int
        How many updates the layer makes.
    position_sigma, position_weight : float
        The kernel of positions, in pixels.
    bilateral_sigma, colour_sigma, bilateral_weight : float
        The kernel of positions and colours, in pixels and in the units of the image.
    normalised : bool
        Whether kernels are divided by the square roots of their row sums.
    learn_sigmas : bool
        Whether sigmas are learnt, too.
    exact : bool, optional
        As for :func:`gaussian_filter`.

    Raises
    ------
    InvalidInput
        For fewer than two labels or a negative number of updates, and pictures of another shape.

    Examples
    --------
    >>> import torch
    >>> layer = MeanField(labels=2, updates=3)
    >>> layer(torch.rand(1, 2, 5, 6), torch.rand(1, 3, 5, 6)).shape
    torch.Size([1, 2, 5, 6])
    """

    @checked_keywords
    def __init__(
        self,
        labels: int,
        updates: int = 5,
        *,
        position_sigma: Number = 3.0,
        position_weight: Number = 3.0,
        bilateral_sigma: Number = 80.0,
        colour_sigma: Number = 13.0,
        bilateral_weight: Number = 10.0,
        normalised: bool = True,
        learn_sigmas: bool = False,
        exact: Optional[bool] = None,
    ) -> None:
        super().__init__()
        if labels < 2 or updates < 0:
            raise InvalidInput(f"there are {labels} labels and {updates} updates, expected at least 2 and 0")
        self.updates = updates
        self.normalised = normalised
        self.exact = exact
        self.weights = torch.nn.Parameter(torch.tensor([float(position_weight), float(bilateral_weight)]))
        self.compatibility = torch.nn.Parameter(1.0 - torch.eye(labels))
        sigmas = torch.log(torch.tensor([float(position_sigma), float(bilateral_sigma), float(colour_sigma)]))
        self.log_sigmas = torch.nn.Parameter(sigmas, requires_grad=learn_sigmas)

    def forward(self, unary: Any, image: Any) -> Any:
        """``unary``: costs (batch, labels, height, width); ``image``: (batch, channels, height, width)."""
        if unary.dim() != 4 or image.dim() != 4 or unary.shape[0] != image.shape[0] or unary.shape[2:] != image.shape[2:]:
            raise InvalidInput(
                f"unary and image have shapes {tuple(unary.shape)} and {tuple(image.shape)}, expected "
                "(batch, labels, height, width) and (batch, channels, height, width)"
            )
        return torch.stack([self._one(u, i) for u, i in zip(unary, image)])

    def _one(self, unary: Any, image: Any) -> Any:
        labels, height, width = unary.shape
        costs = unary.reshape(labels, -1).T
        position_sigma, sigma, colour_sigma = torch.exp(self.log_sigmas).to(costs)
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        place = torch.stack([x, y], dim=-1).reshape(-1, 2).to(costs)
        colour = image.reshape(image.shape[0], -1).T.to(costs)
        kernels = [place / position_sigma, torch.cat([place / sigma, colour / colour_sigma], dim=1)]
        scales = [self._scale(f) for f in kernels]
        q = torch.softmax(-costs, dim=1)
        for _ in range(self.updates):
            messages = torch.zeros_like(q)
            for weight, features, scale in zip(self.weights, kernels, scales):
                messages = messages + weight * scale * gaussian_filter(features, scale * q, self.exact)
            q = torch.softmax(-(costs + messages @ self.compatibility.to(costs)), dim=1)
        return q.T.reshape(labels, height, width)

    def _scale(self, features: Any) -> Any:
        ones = torch.ones_like(features[:, :1])
        if not self.normalised:
            return ones
        # The row sums contain the pixel itself, as they do in pydensecrf.
        return torch.rsqrt(gaussian_filter(features, ones, self.exact) + 1.0)


class _CertifiedNll(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, unary: Any, weights: Any, features: List[Any], labels: Any, metric: Metric, limits: Dict[str, Any]
    ) -> Any:
        costs = unary.detach().cpu().numpy()
        arrays = [f.detach().cpu().numpy() for f in features]
        kernels = [feature_kernel(f, float(w)) for f, w in zip(arrays, weights.detach().cpu().numpy())]
        model = DenseCrf(costs, kernels, metric)
        result = solve(model, "pdhg", certify="exact", **limits)
        if result.upper is None:
            raise InvalidInput("the solve proved no upper bound; give it more time")
        target = labels.cpu().numpy()
        marginals = torch.from_numpy(np.asarray(result.marginals)).to(unary)
        observed = torch.nn.functional.one_hot(labels, unary.shape[1]).to(unary)
        statistics = [_pair_statistics(f, observed, marginals, model._core.labels) for f in features]
        ctx.save_for_backward(observed - marginals, torch.stack(statistics).to(weights))
        return unary.new_tensor(model.energy(target) + result.upper)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Tuple[Any, Any, None, None, None, None]:
        unary, weights = ctx.saved_tensors
        return grad * unary, grad * weights, None, None, None, None


def _pair_statistics(features: Any, observed: Any, expected: Any, labels: _core.Labels) -> Any:
    """sum_{a<b} k_ab (d(x_a, x_b) observed - expected), in blocks of rows.

    Expected is what the bound has: sum_c l_c |y_a(S_c) - y_b(S_c)| over the cuts of the metric.
    """
    distance = torch.from_numpy(labels.distances[0]).to(observed)
    length = torch.from_numpy(labels.lengths[0]).to(observed)
    inside = expected @ torch.from_numpy(labels.cuts).to(observed).T  # y_a(S_c)
    total = observed.new_zeros(())
    for begin in range(0, len(features), 256):
        rows = slice(begin, begin + 256)
        kernel = torch.exp(-0.5 * torch.cdist(features[rows], features) ** 2).to(observed)
        total = total + (kernel * (observed[rows] @ distance @ observed.T)).sum()
        for cut in torch.nonzero(length)[:, 0]:
            column = inside[:, cut]
            total = total - length[cut] * (kernel * (column[rows, None] - column[None, :]).abs()).sum()
    return 0.5 * total


@checked_keywords
def certified_nll(
    unary: Any,
    features: Sequence[Any],
    weights: Any,
    labels: Any,
    *,
    metric: Metric = "potts",
    gap: Optional[float] = None,
    max_iterations: Optional[int] = None,
    time_limit: Optional[float] = None,
) -> Any:
    """A certified upper bound on the negative log-likelihood of a dense model: E(labels) + upper bound on log Z.

    The gradients, with respect to ``unary`` and ``weights``, are observed minus expected statistics, expected by the
    marginals that the bound was found with, and exact at its optimum; those of weights take time quadratic in N. Pairs
    count once.

    Parameters
    ----------
    unary : tensor
        Costs of shape (N, labels).
    features : sequence of tensor
        One (N, D) per kernel, already divided by their sigmas.
    weights : tensor
        One number >= 0 per kernel.
    labels : tensor of int
        Of shape (N,).
    metric : str or array
        As for :class:`submarine.DenseCrf`.
    gap, max_iterations, time_limit : optional
        As for :func:`submarine.solve`.

    Returns
    -------
    tensor
        A number.

    Raises
    ------
    InvalidInput
        For shapes that disagree, and limits that leave no upper bound.

    Examples
    --------
    >>> import torch
    >>> unary, labels = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0, 1])
    >>> loss = certified_nll(unary, [torch.zeros(2, 1)], torch.tensor([0.5]), labels)
    >>> bool(loss > 0)
    True
    """
    if unary.dim() != 2 or labels.shape != unary.shape[:1] or len(features) != len(weights):
        raise InvalidInput(
            f"unary has shape {tuple(unary.shape)}, labels {tuple(labels.shape)}, and there are {len(features)} "
            f"features for {len(weights)} weights; expected (N, L), (N,) and equally many"
        )
    limits = dict(gap=gap, max_iterations=max_iterations, time_limit=time_limit)
    return _CertifiedNll.apply(unary, weights, list(features), labels, metric, limits)
