// What is decided between candidates, and how time and memory are divided among them: pure functions of numbers, and every
// constant that they go by. Where a measurement chose it, the comment has it; of the others none is recorded. What belongs to the numerics of one solver stands there; what
// routing decides within itself is in solver/routed/routed_policy.h.
//
// A solve looks at what it knows (DenseView, SparseView) before every step; solve/dense_portfolio.cc and
// solve/sparse_portfolio.cc are the loops.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>

#include "submarine/solve/method/method.h"
#include "submarine/solve/method/options.h"
#include "submarine/solve/method/sparse_memory.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// --- Dense models

struct DensePolicy {
  // --- Pairs. A cutoff c leaves out the share c of the weight of a kernel over two features, and more of it over more: from
  // here on a lattice, which approximates all of it, is better, unless it takes longer.
  static constexpr double kCoarseCutoff = 0.03;
  // With fewer iterations than this a list proves nothing useful (Tsukuba: 17% wide after 50 iterations).
  static constexpr double kFewIterations = 12.0;
  // Lists may take this share of the time to the first bound and its certificate; on a machine that others use, lists of
  // 2e8 pairs had taken 26 of 30 s, and nothing was left to solve. Lattices take their place.
  static constexpr double kShareOfList = 0.6;
  // Up to this number of variables, lists hold all pairs down to this cutoff, and are built in no time.
  static constexpr double kFewVariables = 1024.0;
  static constexpr double kCutoffOfFew = 1e-30;
  // A part of the variables, of this number, says what all of them need where that is far too much.
  static constexpr int kEnoughVariables = 1 << 17;
  // Cutoffs that a time limit may raise the given one to, as factors.
  static constexpr std::array<double, 6> kCutoffFactors = {1.0, 3.0, 10.0, 30.0, 100.0, 300.0};
  static constexpr double kLargestCutoff = 0.5;
  // Lists and lattices of a single kernel are compared by what this number of iterations takes.
  static constexpr double kManyIterations = 30.0;

  // --- Time, as shares of what is left.
  // What one step beside the search for the upper bound takes at most: normalisation (of the limit); mean field from another
  // start, or its certificate after routing; certificates about a lattice without an upper bound; routes of small models.
  static constexpr double kForOneStep = 0.2;
  static constexpr double kForQuickLower =
      0.05;  // mean field before flows that may be followed by routes
  static constexpr double kForLabels = 0.3;       // certified energy of labels before routing
  static constexpr double kForCertificate = 0.5;  // at most, of flows
  // Certificates about a lattice with an upper bound: as long as this number of first bounds takes.
  static constexpr double kBoundsForLattice = 3.0;
  static constexpr double kForFluctuations = 0.5;
  // Of a model that is proven in strips: when labels are verified, and marginals; the share of the lower bound that
  // pairs may cost that are bounded in groups, and the seconds below which pairs of a strip are not worth a look.
  static constexpr double kEndOfLabelsOfParts = 0.4;
  static constexpr double kEndOfLowerOfParts = 0.8;
  static constexpr double kLossOfParts = 1e-3;
  static constexpr double kLeastForStrip = 1.0;
  // Flows by lattices leave this share for the certificate about the exact Gaussians: on a picture of 500 x 375, where 16
  // levels converge within 10 of 30 s, the certificate goes from 15% to 5% wide with a hundred times the pairs.
  static constexpr double kForExactAfterLattice = 0.5;
  // Verifying marginals takes this many times as long as the labels, as a rule and at least.
  static constexpr double kMarginalsByLabels = 8.0;
  static constexpr double kMarginalsAtLeast = 5.0;

  // --- Flows, one solver after the other. The most potentials whose convex combination proves the upper bound: the
  // verifier's time grows with them.
  static constexpr std::size_t kMaxHullTerms = 3;
  // Neighbours per variable in a sample of the pairs, on average. With fewer, it takes longer to converge on all pairs
  // afterwards; with more, pairs dominate the time of an iteration. Gaps on a sample equal those on all pairs up to its
  // noise, which is of this size.
  static constexpr double kSampleNeighbours = 96.0;
  static constexpr double kGapOfSample = 0.03;
  // Before it, a few iterations on all pairs prove a first bound; later, all pairs are evaluated after this many iterations
  // on the sample, then after twice as many.
  static constexpr int kIterationsBeforeSample = 3;
  static constexpr int kFirstLook = 64;
  // Errors of the sample at single variables are corrected fastest with the step sizes of an iteration this early.
  static constexpr int kBalanceAfterSample = 10;
  // Then iterations double from stage to stage, and the gap should about halve. If it falls by less than a tenth, more
  // stages will not reach the requested one.
  static constexpr int kFirstStage = 64;
  static constexpr double kStallRatio = 0.9;
  // Mean field closes the last half of the gap faster than PDHG: it is run as soon as the gap is this multiple of the
  // requested one, and at the end of a stage, unless the labels are worse than the dual value by more than this share.
  static constexpr double kCallMeanField = 2.0;
  static constexpr double kMeanFieldReach = 0.02;
  static constexpr int kMeanFieldIterations = 100;
  // What an iteration of mean field must gain, relative to its value: alone, and beside flows.
  static constexpr double kToleranceOfMeanField = 1e-6;
  static constexpr double kToleranceBesideFlows = 1e-5;
  // The least gain of an iteration of mean field, of four on listed routes, or of one more potential in a proof, relative to
  // the gap asked for.
  static constexpr double kWorthwhileGain = 1.0 / 25.0;
  // A certified gap larger than the one asked for by less than this factor, and this much, is that gap.
  static constexpr double kToleranceOfGap = 1.2;
  static constexpr double kRoundingOfGap = 1e-6;

  // --- Certificates. Seconds that somebody who gave no limit waits for enumerating pairs, and for routing.
  static constexpr double kPatience = 60.0;
  static constexpr double kRoutingPatience = 300.0;
  // Of the interval about the exact Gaussians, relative to that of the operator: wider ones are not reported.
  static constexpr double kMuchWider = 2.0;
  // The certificate also counts the pairs that lists leave out: the solver aims at a smaller gap to make room. At the
  // default cutoff they cost some 0.3% of the bound.
  static constexpr double kShareForSolver = 0.5;
  static constexpr double kRoomForFarPairs = 0.004;

  // --- Routes. The plain bound lies between that of the unaries alone and that of a shared distribution: where these are
  // closer than this share of what there is to gain, it says next to nothing (97 to 99% wide).
  static constexpr double kLittleToGain = 0.25;
  // The plain bound leaves too much once its dual value says that it leaves this share of an interval wider than that.
  static constexpr double kShareLeftByPlain = 0.5;
  static constexpr double kWideInterval = 0.05;
  // Of the time limit: what routing must fit into where it may follow the plain bound, and what must be left for it then.
  static constexpr double kShareAfterPlain = 0.75;
  static constexpr double kLeastAfterPlain = 0.5;
  // Time to leave for routing of listed pairs, its verifier and the lower bound's, in units of a plain certificate. With few
  // cuts all pairs are routed instead where the plain bound leaves too much (2 labels, soft unaries: 13% -> 2%).
  static constexpr double kListedCertificates = 4.0;
  static constexpr int kFewCuts = 5;
  // Routes after the certificate of flows must fit with this to spare.
  static constexpr double kSlackOfRoutes = 1.2;
  // Cliques, of the time limit: when the search for their evidence ends, and the solve of the pairs that bound from above; that
  // of the pairs that bound from below has the rest. The evidence need not be better than the flows that are found with it, so
  // that these iterations are enough where there is no limit.
  static constexpr double kEndOfCliqueEvidence = 0.35;
  static constexpr double kEndOfCliqueUpper = 0.8;
  static constexpr int kCliqueIterations = 400;
  // Of mean field, each with the cliques held as the marginals of the one before say; what one has to gain, relative to the
  // bound, for another to follow.
  static constexpr int kCliqueRounds = 3;
  static constexpr double kGainOfCliqueRound = 1e-4;
  // Routing of small models is quick: at most this long, and kForOneStep of the time left.
  static constexpr double kQuickSeconds = 4.0;

  // --- How much is put into routing, from the most to the least. Bandwidth and small kernel values matter once flows have
  // converged; before that, plain paths and the largest kernel values prove nearly as much.
  struct RoutingEffort {
    int bandwidth;  // 0: the largest that sums allow
    double cutoff;  // see RoutedOptions; raised further where there is no time
    double passes;  // time of the whole, in units of RoutingPassSeconds
  };
  static constexpr std::array<RoutingEffort, 3> kEfforts = {
      {{0, 0.05, 4.2}, {0, 0.2, 2.2}, {1, 0.5, 0.22}}};
  static constexpr double kPassesPerCut = 0.02;  // by which they grow with every cut beyond two
  // Of the memory limit: for routes, and for their paths. Of the time kept for the lower bound: for a verifier that is late.
  static constexpr double kMemoryOfRoutes = 0.4;
  static constexpr double kMemoryOfPaths = 0.1;
  static constexpr double kReserveForLateVerifier = 0.3;
  // Before routing, marginals are verified as well where they prove more than the labels by this share.
  static constexpr double kMuchMore = 0.02;
  // Mean field after listed routes: at most this many iterations, which gain this share of what they must gain otherwise.
  static constexpr int kUpdatesAfterRoutes = 5;
  static constexpr double kGainAfterRoutes = 0.1;
  // Where all pairs are soon looked at, next to none are left out.
  static constexpr double kFewPairs = 1e9;
  static constexpr double kCutoffOfFewPairs = 1e-3;
  static constexpr double kVerifiedOfFewPairs = 1e-6;
  // From this number of cuts on, flows pair by pair take longer than all else. Of few pairs: the time of each of them and every cut.
  static constexpr int kManyCuts = 6;
  static constexpr double kRoutedFlowSeconds = 1.4e-9;

  // --- What is verified, and how finely. The upper bound may take this share of the time that is left.
  static constexpr double kForUpper = 0.5;
  // What takes no longer than this is done even where no time is left.
  static constexpr double kCheapSeconds = 0.25;
  // Pairs that hold no more of the weight than this share of the gap asked for are not worth their time. (Leaving out a
  // third made an interval of 4.7% three times as wide.)
  static constexpr double kNegligible = 0.2;
  // The loss by bounding far pairs in groups, relative to the requested gap, and its upper limit.
  static constexpr double kShareForGroups = 1.0 / 50.0;
  static constexpr double kMostForGroups = 1e-3;
  // A cutoff that is this many times what the accuracy allows gets a note.
  static constexpr double kMuchLeftOut = 10.0;
  // A lower bound that improves on the labels' by less than this share of the requested gap is not verified.
  static constexpr double kWorthVerifying = 1.0 / 20.0;
};

// --- What is known of a solve.

struct DenseView {
  // The call
  Method method = Method::kAuto;
  Certify certify = Certify::kAuto;
  bool zero_temperature = false;
  double limit = kUnlimited;  // seconds
  double left = kUnlimited;
  bool stopped = false;
  double gap = 0.01;
  int cuts = 1;
  // Bounds on log Z without pairs: by unaries; and what no plain bound is below.
  double unaries_upper = 0.0;
  double plain_floor = -kUnlimited;
  bool plain_says_little = false;  // see PlainSaysLittle: by one label for all, then by mean field
  // Seconds: the least that routing takes, the most effort worth it; certificates with the machine's factor.
  double least_routing = kUnlimited;
  double most_routing = kUnlimited;
  double exact_certificate = 0.0;
  double lattice_certificate = 0.0;
  double machine_time_factor = 1.0;
  bool memory_for_routes = true;

  // The pairs in use
  bool exact_pairs = false;      // no lattice among them
  bool lattices_forced = false;  // by an option, not by want of time
  bool listed = false;           // one list, with room for routing it
  bool uniform_metric = false;   // all different labels are as far apart
  bool fluctuations_sought = false;
  bool memory_for_fluctuations = true;
  // Found: which candidates ran, and their values
  bool has_mean_field = false;
  bool has_flows = false;
  double lower = -kUnlimited;
  double upper = kUnlimited;
  double dual = -kUnlimited;
  bool gap_reached = false;
  bool plain_is_wide = false;
  double operator_upper = kUnlimited;   // verified, about the operator
  double certified_width = kUnlimited;  // relative, the least of any model
  bool routes_sought = false;
  double routed = kUnlimited;    // verified
  bool labels_verified = false;  // about the exact Gaussians
  bool changed_for_exact =
      false;  // since the certificate about the exact Gaussians, and the operator's
  bool changed_for_operator = false;
};

// Whether the plain bound, which is nowhere below the value of a distribution that all variables share, cannot gain much of
// what there is to gain down to this lower bound.
bool PlainSaysLittle(const DenseView& view, double lower);
// Whether the method routes; `auto`: where the plain bound says little, and the least that routing takes fits.
bool RoutesFirst(const DenseView& view);
// Whether flows may be followed by routes of all pairs: that mean field is needed before.
bool MayRouteAfterFlows(const DenseView& view);
// Whether mean field and its fluctuations may prove an upper bound about lattices, once it is known that there are.
bool MayBoundFluctuations(const DenseView& view);
// All routes of a small model take a few seconds.
bool RoutesAreQuick(const DenseView& view);
// While flows run: whether no flow whatever brings the plain bound near the lower bound, and there is time to route.
bool PlainLeavesTooMuch(double upper, double dual, double lower, double gap);
bool EndsFlows(const DenseView& view);

// Whether it is time for each of these.
bool WantsMeanField(const DenseView& view);
bool WantsFluctuations(const DenseView& view);
bool WantsFlows(const DenseView& view);
bool WantsFewerLabels(const DenseView& view);
bool WantsListedRoutes(const DenseView& view);
bool WantsRoutes(const DenseView& view);
bool WantsRoutesAfterAll(const DenseView& view);
// About which model certificates are made, and whether now.
bool CertifiesExactly(const DenseView& view);
bool CertifiesOperator(const DenseView& view);
bool WantsExactCertificate(const DenseView& view);
bool WantsOperatorCertificate(const DenseView& view);

// Seconds of the time left that flows leave for what follows.
double ReserveOfFlows(const DenseView& view);
double RoutingPatience(const DenseView& view);

// The gap at which a solver of the upper bound stops so that the certificate, which also counts far pairs, has the
// requested gap.
double SolverGap(double gap, bool certifies_exactly);

// Of certificates about the exact Gaussians and about an operator's weights: whether the first is the one to report.
bool ReportsExact(double width_of_exact, double width_of_operator);

// The first of the ascending cutoffs, given their numbers of pairs, whose list can be built, used for a few iterations and
// verified within the time; the last one if none can.
std::size_t ChooseCutoff(DenseSize size, std::span<const double> pairs, double seconds);

// --- Sparse models

struct SparsePolicy {
  // Fewer iterations of PDHG than this prove nothing useful, so that another bound is preferred.
  static constexpr double kFewIterations = 12.0;
  // Without a first bound, a method ends once it has exceeded the time limit by this share of what it may be exceeded by.
  static constexpr double kShareOfOverrun = 0.5;
  // Exact inference is cheap up to this number of table entries (a few seconds), of bytes, of entries in the given tables, and
  // up to this share of the time left.
  static constexpr double kCheapEntries = 6e8;
  static constexpr double kCheapBytes = 2e9;
  static constexpr double kCheapTables = 2e7;
  static constexpr double kShareForExact = 1.0 / 3.0;
  // Of mean field after an upper bound, and the relative width at which no lower bound gains but by rounding.
  static constexpr int kSweeps = 200;
  static constexpr double kTolerance = 1e-6;
  static constexpr double kClosed = 1e-9;
  // Optimising the edges' probabilities is the tightest of all on 24 of 26 grids and random graphs (docs/which_method.md):
  // this number of steps takes about ten times as long as TRW before them, for those who have given the time. They are begun
  // where they may take at least this number of first bounds.
  static constexpr int kRhoSteps = 10;
  static constexpr double kFirstBoundsForForests = 4.0;
  // Cliques, of the time left: trees on their latent labels, flows together with the evidence of the cliques, then trees on what
  // that leaves. Each round of mean field holds the cliques as the marginals of the one before say.
  static constexpr double kForLatentTrees = 0.3;
  static constexpr double kForCliqueFlows = 0.55;
  static constexpr double kForCliqueTrees = 0.6;
  static constexpr int kCliqueRounds = 4;
};

// What a method needs until a verifier has confirmed its first bound.
struct SparseCost {
  bool is_upper = false;  // an upper bound by pairs
  bool zero_temperature = false;
  double seconds = 0.0;
  double bytes = 0.0;  // beside the model
};

struct SparseView {
  // The call
  Method method = Method::kAuto;
  bool zero_temperature = false;
  int starts = 4;             // of mean field
  bool between_trees = true;  // mean field, after the naive one
  double limit = kUnlimited;  // seconds
  double left = kUnlimited;
  bool stopped = false;
  double room = kUnlimited;  // bytes beside the model
  double gap = 1e-4;
  SparseSize size;
  std::array<SparseCost, kNumMethods> costs = {};

  // Found
  bool is_exact = false;
  bool has_unaries = false;
  bool gave_up = false;  // a method, before it had a bound
  bool tried_exact = false;
  bool tried_upper = false;
  bool tried_forests = false;
  bool has_mean_field = false;
  bool has_forest_mean_field = false;
  Method upper_by = Method::kAuto;  // kAuto: only the unaries
  double upper = kUnlimited;
  double lower = -kUnlimited;
};

// Whether the method's first bound fits the time and the memory that are left.
bool FitsTime(const SparseView& view, Method method);
bool FitsMemory(const SparseView& view, Method method);
// The method with the tightest bound that fits; kAuto if none does, so that the unaries' bound remains.
Method TightestThatFits(const SparseView& view);

bool WantsUnaries(const SparseView& view);
bool WantsExact(const SparseView& view);
bool WantsUpper(const SparseView& view);
bool WantsMeanField(const SparseView& view);
bool WantsForestMeanField(const SparseView& view);
bool WantsBetterForests(const SparseView& view);
// Whether a method without a first bound ends for good.
bool GivesUp(const SparseView& view);

}  // namespace submarine::internal
