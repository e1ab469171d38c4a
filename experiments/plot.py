#!/usr/bin/env python3
"""Tables and a figure of what submarine-experiments wrote: means in Markdown, and figure.png and figure.svg beside results.csv.

The tables need nothing but Python; the figure needs matplotlib (Debian: python3-matplotlib) and is left out without it.

usage: plot.py DIRECTORY
"""

import csv
import math
import pathlib
import statistics
import sys


def number(text):
    return float(text) if text else None


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else None


def distinct(rows, *columns):
    """The values of these columns, in their order of appearance."""
    return list(dict.fromkeys(tuple(row[column] for column in columns) for row in rows))


def shown(value, form):
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def table(header, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)) + "\n"


# ---- synth: (bound - TRW) / |TRW| ----

def synth_ratios(rows):
    """By metric, weight and method: a ratio per instance."""
    trw = {(row["metric"], row["weight"], row["instance"]): number(row["value"]) for row in rows if row["method"] == "trw"}
    ratios = {}
    for row in rows:
        reference = trw.get((row["metric"], row["weight"], row["instance"]))
        if reference:
            ratio = (number(row["value"]) - reference) / abs(reference)
            ratios.setdefault((row["metric"], row["weight"], row["method"]), []).append(ratio)
    return ratios


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def synth_table(rows):
    ratios, lines = synth_ratios(rows), []
    for key in distinct(rows, "metric", "weight", "method"):
        same = [row for row in rows if (row["metric"], row["weight"], row["method"]) == key]
        ratio = ratios.get(key)
        lines.append([*key, str(len(same)), shown(mean([number(row["value"]) for row in same]), ".1f"),
                      f"{statistics.fmean(ratio):.4f} ± {deviation(ratio):.4f}" if ratio else "-",
                      shown(mean([number(row["seconds"]) for row in same]), ".2f")])
    return table(["metric", "weight", "method", "n", "mean bound", "(bound - TRW) / |TRW|", "s"], lines)


def synth_figure(rows, plt):
    ratios = synth_ratios(rows)
    metrics = [metric for (metric,) in distinct(rows, "metric")]
    methods = [method for (method,) in distinct(rows, "method") if method != "trw"]
    # The alternate extension lies so far above the others that they need panels of their own.
    lines = [methods, [m for m in methods if "alternate" not in m]] if any("alternate" in m for m in methods) else [methods]
    figure, axes = plt.subplots(len(lines), len(metrics), figsize=(4.6 * len(metrics), 3.4 * len(lines)), squeeze=False)
    for shown_methods, line in zip(lines, axes):
        for metric, axis in zip(metrics, line):
            axis.axhline(0.0, color="0.35")
            for method in shown_methods:
                points = sorted((float(w), values) for (m, w, name), values in ratios.items() if (m, name) == (metric, method))
                axis.errorbar([w for w, _ in points], [statistics.fmean(v) for _, v in points],
                              [deviation(v) for _, v in points], label=method, capsize=3, marker=".",
                              color=f"C{methods.index(method)}", linestyle="--" if "published" in method else "-")
            axis.set(title=metric, xlabel="weight", ylabel="(bound − TRW) / |TRW|")
    axes[0][0].legend(fontsize="small")
    return figure


# ---- The benches: groups of bars ----

def bars(plt, title, groups, series, panels):
    """`panels`: a title, whether the axis is logarithmic, and a value for each of groups and series, or None."""
    figure, axes = plt.subplots(len(panels), 1, figsize=(max(7.0, 0.25 * len(groups) * len(series)), 2.7 * len(panels)),
                                squeeze=False)
    figure.suptitle(title)
    for (name, logarithmic, value), axis in zip(panels, axes[:, 0]):
        for k, one in enumerate(series):
            heights = [value(group, one) for group in groups]
            axis.bar([g + (k - len(series) / 2 + 0.5) * 0.8 / len(series) for g in range(len(groups))],
                     [math.nan if height is None else height for height in heights], 0.8 / len(series), label=one)
        axis.set_title(name, fontsize="medium")
        axis.set_xticks(range(len(groups)), groups)
        if logarithmic:
            axis.set_yscale("log")
    axes[0][0].legend(fontsize="small", ncol=3)
    return figure


def stereo_value(rows, column, relative=False):
    cells = {(row["pair"], row["method"]): number(row[column]) for row in rows}

    def value(pair, method):
        own, reference = cells.get((pair, method)), cells.get((pair, "mf"))
        if not relative or own is None:
            return own
        return own / reference if reference and reference * own > 0 else None
    return value


def stereo_table(rows):
    energy, seconds = stereo_value(rows, "energy", relative=True), stereo_value(rows, "seconds", relative=True)
    lines = []
    for row in rows:
        key = row["pair"], row["method"]
        lower, upper, dual = (number(row[column]) for column in ("lower", "upper", "dual"))
        gap = [None if upper is None or end is None else 100 * (upper - end) / max(1.0, abs(upper)) for end in (lower, dual)]
        share = [None if number(row[column]) is None else 100 * number(row[column]) for column in ("bad_1", "refined_bad_1")]
        lines.append([*key, shown(number(row["energy"]), ".4g"), shown(energy(*key), ".3f"), shown(number(row["seconds"]), ".3g"),
                      shown(seconds(*key), ".3g"), f"[{shown(lower, '.6g')}, {shown(upper, '.6g')}]",
                      *(shown(value, ".2f") for value in (*gap, *share)), shown(number(row["refined_mean_absolute"]), ".3f")])
    text = table(["pair", "method", "energy", "/ mf", "s", "/ mf", "interval of log Z", "its width, %", "gap, %", "bad > 1 px, %",
                  "refined", "mean error, px, refined"], lines)
    for (method,) in distinct(rows, "method"):
        both = [(seconds(pair, method), energy(pair, method)) for (pair,) in distinct(rows, "pair")]
        both = [pair for pair in both if None not in pair]
        if both and method != "mf":
            text += (f"\n{method} to mf, geometric means over {len(both)} pairs: time "
                     f"{statistics.geometric_mean(s for s, _ in both):.3g}, energy {statistics.geometric_mean(e for _, e in both):.3f}\n")
    return text


def stereo_figure(rows, plt):
    bad = stereo_value(rows, "refined_bad_1")
    return bars(plt, "Stereo benchmark", [pair for (pair,) in distinct(rows, "pair")], [m for (m,) in distinct(rows, "method")], [
        ("Energy / energy of mean field (exact Gaussians)", True, stereo_value(rows, "energy", relative=True)),
        ("Seconds", True, stereo_value(rows, "seconds")),
        ("Bad pixels, refined disparities off by > 1 px (%)", False,
         lambda pair, method: None if bad(pair, method) is None else 100 * bad(pair, method))])


SCORES = ["accuracy", "mean_iou", "boundary_accuracy_3", "boundary_accuracy_6", "calibration_error"]


def segment_means(rows, column):
    """By parameters and method, over the pictures."""
    return {key: mean([number(row[column]) for row in rows if (row["parameters"], row["method"]) == key])
            for key in distinct(rows, "parameters", "method")}


def segment_table(rows):
    means = {column: segment_means(rows, column) for column in (*SCORES, "negative_log_likelihood", "seconds", "cpu_seconds")}
    lines = [[*key, *("-" if means[column][key] is None else f"{100 * means[column][key]:.2f}%" for column in SCORES),
              shown(means["negative_log_likelihood"][key], ".4f"), shown(means["seconds"][key], ".3g"),
              shown(means["cpu_seconds"][key], ".3g")] for key in distinct(rows, "parameters", "method")]
    return (table(["parameters", "method", "accuracy", "mean IoU", "boundary 3 px", "boundary 6 px", "ECE", "NLL", "s", "CPU s"], lines)
            + f"\nMeans over {len(distinct(rows, 'picture'))} pictures.\n")


def segment_figure(rows, plt):
    def wrong(column):
        means = segment_means(rows, column)
        return lambda group, method: None if means.get((group, method)) is None else 100 * (1 - means[group, method])
    calibration, seconds = segment_means(rows, "calibration_error"), segment_means(rows, "cpu_seconds")
    return bars(plt, "Segmentation benchmark", [p for (p,) in distinct(rows, "parameters")], [m for (m,) in distinct(rows, "method")], [
        ("Wrong labels (%)", False, wrong("accuracy")), ("100% − mean IoU (%)", False, wrong("mean_iou")),
        ("Wrong labels within 3 pixels of a boundary (%)", False, wrong("boundary_accuracy_3")),
        ("Expected calibration error (%)", False,
         lambda group, method: None if calibration.get((group, method)) is None else 100 * calibration[group, method]),
        ("CPU seconds", True, lambda group, method: seconds.get((group, method)))])


KINDS = {"metric": (synth_table, synth_figure), "pair": (stereo_table, stereo_figure), "picture": (segment_table, segment_figure)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    with open(directory / "results.csv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows, kind = list(reader), KINDS.get((reader.fieldnames or [""])[0])
    if not rows or not kind:
        sys.exit(f"{directory / 'results.csv'} has no results of submarine-experiments")
    print(kind[0](rows), end="")
    try:
        import matplotlib
    except ImportError:
        print("No figure: matplotlib is not installed (Debian: python3-matplotlib).", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure = kind[1](rows, plt)
    figure.tight_layout()
    for ending in ("png", "svg"):
        figure.savefig(directory / f"figure.{ending}", dpi=150)


if __name__ == "__main__":
    main()
