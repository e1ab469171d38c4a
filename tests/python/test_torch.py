"""Training: gradients by gradcheck, a loss that falls, and a likelihood that is a bound."""

import numpy as np
import pytest
from conftest import dense_energy, gaussian, log_partition, run_docstrings

torch = pytest.importorskip("torch", reason="PyTorch is not installed, and submarine.torch is not tested")
import submarine as sm  # noqa: E402
import submarine.torch  # noqa: E402
from submarine.torch import MeanField, certified_nll, gaussian_filter  # noqa: E402


def test_filter_is_the_gaussian_without_self_terms():
    torch.manual_seed(1)
    features, x = torch.rand(30, 3, dtype=torch.double) * 2, torch.rand(30, 4, dtype=torch.double)
    kernel = gaussian(features.numpy()) - np.eye(30)
    assert np.allclose(gaussian_filter(features, x), kernel @ x.numpy(), atol=1e-12)
    lattice = gaussian_filter(features, x, exact=False)
    assert np.abs(lattice - kernel @ x.numpy()).max() < 0.25 * np.abs(kernel @ x.numpy()).max()


def test_gradients_of_the_filter():
    torch.manual_seed(2)
    features = (torch.rand(7, 3, dtype=torch.double) * 2).requires_grad_()
    x = torch.rand(7, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f, v: gaussian_filter(f, v, True), (features, x))


@pytest.mark.parametrize("normalised", [True, False])
def test_gradients_of_the_layer(normalised):
    torch.manual_seed(3)
    layer = MeanField(3, 2, bilateral_sigma=2, colour_sigma=1, bilateral_weight=0.7, position_sigma=1, position_weight=0.4,
                      normalised=normalised, learn_sigmas=True).double()
    unary = torch.rand(2, 3, 2, 3, dtype=torch.double, requires_grad=True)
    image = torch.rand(2, 2, 2, 3, dtype=torch.double, requires_grad=True)
    parameters = tuple(layer.parameters())
    assert len(parameters) == 3

    def run(u, i, *_):
        return layer(u, i)

    assert torch.autograd.gradcheck(run, (unary, image, *parameters))


def test_lattice_gradients_point_the_same_way():
    torch.manual_seed(4)
    features = torch.rand(400, 2) * 3
    target = torch.rand(400, 3)
    gradients = []
    for exact in (True, False):
        f, x = features.clone().requires_grad_(), torch.rand(400, 3, generator=torch.Generator().manual_seed(5))
        x.requires_grad_()
        (gaussian_filter(f, x, exact) * target).sum().backward()
        gradients.append((f.grad, x.grad))
    for one, two in zip(*gradients):
        assert torch.nn.functional.cosine_similarity(one.flatten(), two.flatten(), dim=0) > 0.9


def scene(height=12, width=14):
    rng = np.random.default_rng(6)
    truth = (np.mgrid[:height, :width][1] >= width // 2).astype(int)
    image = np.where(truth, 200.0, 50.0)[None] + rng.normal(0, 3, (1, height, width))
    guess = np.where(rng.random((height, width)) < 0.2, 1 - truth, truth)
    costs = np.where(np.arange(2)[:, None, None] == guess, 0.4, 1.1)
    return [torch.from_numpy(a[None]) for a in (costs, image)] + [torch.from_numpy(truth[None])]


def test_training_lowers_the_loss():
    costs, image, truth = scene()
    layer = MeanField(2, 3, bilateral_sigma=8, colour_sigma=20, bilateral_weight=0.1, position_sigma=1, position_weight=0.1,
                      learn_sigmas=True).double()
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = torch.nn.functional.nll_loss(torch.log(layer(costs, image) + 1e-9), truth)
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    assert (layer(costs, image).argmax(1) != truth).double().mean() < 0.02


TABLE = np.array([[0, 1, 2.5], [1, 0, 2], [2.5, 2, 0]])
METRICS = {
    "potts": 1 - np.eye(3),
    "linear": np.abs(np.subtract.outer(range(3), range(3))),
    "truncated:1": np.minimum(np.abs(np.subtract.outer(range(3), range(3))), 1),
    "tree:((0,1):1,2:1)": None,
    "table": TABLE,
}


@pytest.mark.parametrize("name", METRICS)
def test_certified_likelihood_is_a_bound_with_a_gradient(name):
    torch.manual_seed(7)
    metric = TABLE if name == "table" else name
    count = 6
    unary = torch.rand(count, 3, dtype=torch.double).float().double().requires_grad_()
    features = [torch.rand(count, 2, dtype=torch.double), torch.rand(count, 1, dtype=torch.double) * 2]
    weights = torch.tensor([0.3, 0.2], dtype=torch.double, requires_grad=True)
    labels = torch.tensor([0, 2, 1, 0, 1, 0])

    def nll_at(u, w):
        return certified_nll(u, features, w, labels, metric=metric, gap=1e-6, max_iterations=20000)

    nll = nll_at(unary, weights)
    pair = sum(float(w) * gaussian(f.numpy()) for w, f in zip(weights.detach(), features))
    distance = METRICS[name]
    if distance is None:
        distance = sm.DenseCrf(np.zeros((2, 3)), [], metric)._core.labels.distances[0]
    energy = lambda x: dense_energy(unary.detach().numpy(), pair, distance, x)  # noqa: E731
    truth = energy(labels.numpy()) + log_partition(energy, [3] * count)
    assert truth <= float(nll) + 1e-6
    nll.backward()
    step = 1e-2
    for tensor in (unary, weights):
        flat = tensor.detach().reshape(-1)
        for k in range(min(4, flat.numel())):
            values = []
            for sign in (1, -1):
                moved = flat.clone()
                moved[k] += sign * step
                arguments = [unary.detach(), weights.detach()]
                arguments[0 if tensor is unary else 1] = moved.reshape(tensor.shape)
                values.append(float(nll_at(*arguments)))
            # The bound is piecewise smooth, and certified to 1e-6 of itself.
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(float(tensor.grad.reshape(-1)[k]), abs=0.03)


def test_training_by_the_certified_likelihood():
    costs, image, truth = scene(6, 8)
    unary = costs[0].reshape(2, -1).T.contiguous()
    y, x = np.mgrid[:6, :8]
    place = torch.from_numpy(np.stack([x.ravel(), y.ravel()], 1) / 2.0)
    colour = torch.cat([place / 3, image[0].reshape(1, -1).T / 30], dim=1)
    log_weights = torch.log(torch.tensor([0.02, 0.02], dtype=torch.double)).requires_grad_()
    optimiser = torch.optim.Adam([log_weights], lr=0.2)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = certified_nll(unary, [place, colour], torch.exp(log_weights), truth.reshape(-1), gap=1e-3)
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0] - 0.5


def test_docstrings():
    assert run_docstrings(submarine.torch) >= 7


def test_errors():
    with pytest.raises(sm.InvalidInput):
        gaussian_filter(torch.zeros(3, 2), torch.zeros(4, 2))
    with pytest.raises(sm.InvalidInput):
        MeanField(2)(torch.zeros(2, 3, 3), torch.zeros(1, 3, 3))
