"""Training through dense CRFs with PyTorch: a differentiable mean field, and a certified likelihood.

Not imported by ``import submarine``; needs PyTorch 1.13 or later.
"""

from __future__ import annotations

import importlib
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _core
from ._errors import InvalidInput
from ._kernels import features as feature_kernel
from ._models import DenseCrf
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


def gaussian_filter(features: Any, x: Any, exact: Optional[bool] = None) -> Any:
    """sum_{b != a} exp(-|f_a - f_b|^2 / 2) x_b for features (N, D) and x (N, C), differentiable in both.

    Up to 1024 variables all pairs are enumerated in the precision of the input, beyond that the lattice does it in
    single precision; ``exact`` decides otherwise. Gradients with respect to features are those of the Gaussian.
    """
    if features.dim() != 2 or x.dim() != 2 or len(features) != len(x):
        raise InvalidInput(
            f"features and x have shapes {tuple(features.shape)} and {tuple(x.shape)}, expected (N, D) and (N, C)"
        )
    return _Filter.apply(features, x, len(x) <= _SMALL if exact is None else exact)


class MeanField(torch.nn.Module):  # type: ignore[misc]
    """Mean field of a dense CRF as a layer: costs (batch, labels, height, width) to probabilities.

    Learnt, if trained: the weights of the position and the bilateral kernel, the (labels, labels) compatibility, and
    the logarithms of the three sigmas; gradients reach unaries and picture as well. Kernels are normalised
    symmetrically unless told otherwise; there are no self terms.
    """

    def __init__(
        self,
        labels: int,
        iterations: int = 5,
        *,
        sigma: float = 80.0,
        colour_sigma: float = 13.0,
        weight: float = 10.0,
        position_sigma: float = 3.0,
        position_weight: float = 3.0,
        normalised: bool = True,
        learn_sigmas: bool = False,
        exact: Optional[bool] = None,
    ) -> None:
        super().__init__()
        if labels < 2 or iterations < 0:
            raise InvalidInput(f"there are {labels} labels and {iterations} iterations, expected at least 2 and 0")
        self.iterations = iterations
        self.normalised = normalised
        self.exact = exact
        self.weights = torch.nn.Parameter(torch.tensor([float(position_weight), float(weight)]))
        self.compatibility = torch.nn.Parameter(1.0 - torch.eye(labels))
        sigmas = torch.log(torch.tensor([float(position_sigma), float(sigma), float(colour_sigma)]))
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
        for _ in range(self.iterations):
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
    def forward(ctx: Any, unary: Any, weights: Any, features: List[Any], labels: Any, metric: Any, options: Any) -> Any:
        costs = unary.detach().cpu().numpy()
        arrays = [f.detach().cpu().numpy() for f in features]
        kernels = [feature_kernel(f, float(w)) for f, w in zip(arrays, weights.detach().cpu().numpy())]
        model = DenseCrf(costs, kernels, metric, pairs="once")
        given: Any = {"certify": "exact", **options}
        result = solve(model, "pdhg", **given)
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


def certified_nll(
    unary: Any, features: Sequence[Any], weights: Any, labels: Any, *, metric: Any = "potts", **options: Any
) -> Any:
    """E(labels) + an upper bound on log Z: a certified upper bound on the negative log-likelihood of a dense model.

    ``unary`` (N, L) costs, ``features`` one (N, D) tensor per kernel, already divided by their sigmas, ``weights``
    one number >= 0 per kernel, ``labels`` (N,), ``metric`` as :class:`submarine.DenseCrf` takes it; pairs count once.
    The gradients, with respect to ``unary`` and ``weights``, are observed minus expected statistics, expected by the
    marginals that the bound was found with, and exact at its optimum; those of weights take time quadratic in N.
    ``options`` go to submarine.solve.
    """
    if unary.dim() != 2 or labels.shape != unary.shape[:1] or len(features) != len(weights):
        raise InvalidInput(
            f"unary has shape {tuple(unary.shape)}, labels {tuple(labels.shape)}, and there are {len(features)} "
            f"features for {len(weights)} weights; expected (N, L), (N,) and equally many"
        )
    return _CertifiedNll.apply(unary, weights, list(features), labels, metric, options)
