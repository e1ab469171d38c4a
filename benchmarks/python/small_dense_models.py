#!/usr/bin/env python3
"""Bounds and marginals of small dense models beside exact ones: how far upper bounds are above log Z, and how far
marginals are off, by mean degree (sum of pair weights at a variable).

usage: PYTHONPATH=build/python /usr/bin/python3 benchmarks/python/small_dense_models.py [--models N] [--seed N]

14 variables, 2 labels, Potts, one Gaussian kernel over two random features, normal unaries. trw sees the
same model as a graph of all pairs. Prints a table for docs/experiments.md.
"""

import argparse
import itertools

import numpy as np

import submarine as sm

VARIABLES = 14
DENSE = ("pdhg", "routed", "mf")
GRAPH = ("trw",)


def solve_all(rng, degree):
    """Excess over log Z and mean error of marginals, by method."""
    features = rng.normal(size=(VARIABLES, 2))
    kernel = np.exp(-0.5 * ((features[:, None] - features[None]) ** 2).sum(-1))
    np.fill_diagonal(kernel, 0.0)
    weight = degree / kernel.sum(1).mean()
    unary = rng.normal(size=(VARIABLES, 2)).astype(np.float32)
    dense = sm.DenseCrf(unary, [sm.features(features, weight=weight)])
    edges = np.array(list(itertools.combinations(range(VARIABLES), 2)))
    graph = sm.GraphCrf(unary, edges, weight * kernel[edges[:, 0], edges[:, 1]])
    exact = sm.solve(dense, method="exact")
    truth = np.asarray(exact.marginals)
    solved = {method: sm.solve(dense, method=method, certify="exact") for method in DENSE}
    solved.update({method: sm.solve(graph, method=method) for method in GRAPH})
    marginals = {method: np.asarray(result.marginals) for method, result in solved.items()}
    marginals["mean"] = 0.5 * (marginals["routed"] + marginals["mf"])
    excess = {m: r.upper - exact.upper if r.upper is not None else r.lower - exact.lower for m, r in solved.items()}
    return excess, {method: np.abs(rows - truth)[:, 0].mean() for method, rows in marginals.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    bounds, errors = ("pdhg", "trw", "routed", "mf"), ("pdhg", "trw", "routed", "mf", "mean")
    print("| mean degree |", " | ".join(f"{m}: bound - log Z" for m in bounds), "|",
          " | ".join(f"{m}: error" for m in errors), "|")
    print("|---" * (1 + len(bounds) + len(errors)) + "|")
    for degree in (1, 3, 6, 12):
        runs = [solve_all(rng, degree) for _ in range(options.models)]
        cells = [f"{np.mean([excess[m] for excess, _ in runs]):+.2f}" for m in bounds]
        cells += [f"{np.mean([error[m] for _, error in runs]):.3f}" for m in errors]
        print(f"| {degree} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
