#include "submarine/io/model/grid_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/model/metric_spec.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Matrix<double> RandomUnary(std::size_t variables, std::size_t labels) {
  std::mt19937_64 random(3);
  Matrix<double> unary(variables, labels);
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = std::normal_distribution<>()(random);
  return unary;
}

void WriteDoubles(const std::filesystem::path& path, const std::vector<double>& values,
                  const NpyShape& shape) {
  WriteNpy(path, std::span<const double>(values), shape);
}

void ExpectSameModel(const SparseCrf& a, const SparseCrf& b) {
  EXPECT_EQ(a.unary(), b.unary());
  EXPECT_EQ(a.constant(), b.constant());
  EXPECT_EQ(a.labels().metrics.at(0).distance, b.labels().metrics.at(0).distance);
  ASSERT_EQ(a.num_edges(), b.num_edges());
  for (std::size_t e = 0; e < a.num_edges(); ++e) {
    EXPECT_EQ(a.edges()[e].a, b.edges()[e].a);
    EXPECT_EQ(a.edges()[e].b, b.edges()[e].b);
    EXPECT_EQ(a.edges()[e].weight, b.edges()[e].weight);
  }
}

// A directory with the arrays of a 3 x 2 grid of 2 labels and of a graph over the same 6 variables.
class BundleTest : public ::testing::Test {
 protected:
  BundleTest() {
    WriteNpy(dir_ / "u.npy", unary_, {2, 3, 2});
    WriteNpy(dir_ / "flat.npy", unary_);
    WriteDoubles(dir_ / "w.npy", {1, 2, 3, 4, 5, 6, 7}, {7});
    const std::int32_t ends[] = {0, 5, 3, 1};
    WriteNpy(dir_ / "e.npy", std::span<const std::int32_t>(ends), NpyShape{2, 2});
    WriteDoubles(dir_ / "w2.npy", {0.5, 0.25}, {2});
  }
  LoadedModel Read(const std::string& json, bool strict = false) {
    return ReadBundle(dir_.WriteText("m.json", json), strict);
  }
  const TempDir dir_;
  const Matrix<double> unary_ = RandomUnary(6, 2);
};

TEST_F(BundleTest, GridWithOneWeight) {
  const LoadedModel loaded = Read(R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2,
    "connectivity": 8, "weight": 2.5, "metric": "potts", "unary": "u.npy", "constant": -1.5})");
  EXPECT_EQ(loaded.width, 3);
  EXPECT_EQ(loaded.height, 2);
  EXPECT_THAT(loaded.warnings, IsEmpty());
  ExpectSameModel(loaded.model, SparseCrf(unary_, GridEdges(3, 2, 8, 2.5), PottsLabels(2), -1.5));
}

TEST_F(BundleTest, GridDefaultsAndWeightPerEdge) {
  const LoadedModel plain = Read(
      R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy"})");
  ExpectSameModel(plain.model, SparseCrf(unary_, GridEdges(3, 2, 4, 1.0), PottsLabels(2)));
  const LoadedModel weighted = Read(R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2,
    "metric": "potts", "unary": "u.npy", "weights": "w.npy"})");
  std::vector<Edge> edges = GridEdges(3, 2, 4, 1.0);
  for (std::size_t e = 0; e < edges.size(); ++e) edges[e].weight = 1.0 + static_cast<double>(e);
  ExpectSameModel(weighted.model, SparseCrf(unary_, edges, PottsLabels(2)));
}

TEST_F(BundleTest, Graph) {
  const LoadedModel loaded =
      Read(R"({"submarine": "graph", "variables": 6, "labels": 2, "edges": "e.npy",
    "weights": "w2.npy", "metric": "linear", "unary": "flat.npy"})");
  EXPECT_EQ(loaded.width, 0);
  ExpectSameModel(loaded.model, SparseCrf(unary_, {{0, 5, 0.5}, {3, 1, 0.25}}, LinearLabels(2)));
}

TEST_F(BundleTest, HstViolationsWarnOrThrow) {
  WriteNpy(dir_ / "u4.npy", RandomUnary(6, 4), {2, 3, 4});
  const std::string json = R"({"submarine": "grid", "width": 3, "height": 2, "labels": 4,
    "metric": "tree:2x2:1,5", "unary": "u4.npy"})";
  EXPECT_THAT(Read(json).warnings, Not(IsEmpty()));
  EXPECT_THAT(MessageOf<InvalidInput>([&] { Read(json, true); }),
              AllOf(HasSubstr("m.json"), HasSubstr("\"metric\""), HasSubstr("r-HST")));
}

TEST_F(BundleTest, BadHeadersNameFileAndKey) {
  const struct {
    const char* json;
    const char* reason;
  } cases[] = {
      {"", "is empty"},
      {"{", "not valid JSON"},
      {"[]", "not a model bundle"},
      {"{}", "not a model bundle"},
      {R"({"submarine": "boat"})", "not a model bundle"},
      {R"({"submarine": 1})", "not a model bundle"},
      {R"({"submarine": "grid", "widht": 3})", "unknown key \"widht\""},
      {R"({"submarine": "grid", "variables": 3})", "unknown key \"variables\""},
      {R"({"submarine": "grid"})", "key \"width\" is missing"},
      {R"({"submarine": "grid", "width": "3"})", "key \"width\" must be a whole number"},
      {R"({"submarine": "grid", "width": 3.5})", "key \"width\" must be a whole number"},
      {R"({"submarine": "grid", "width": 0})", "key \"width\" must be a whole number"},
      {R"({"submarine": "grid", "width": -3})", "key \"width\" must be a whole number"},
      {R"({"submarine": "grid", "width": 1e30})", "key \"width\" must be a whole number"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 1})", "key \"labels\""},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 5000})", "key \"labels\""},
      {R"({"submarine": "grid", "width": 2000000, "height": 2000000, "labels": 2})",
       "key \"width\" times the height"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "connectivity": 6})",
       "must be 4 or 8"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "connectivity": "4"})",
       "\"connectivity\""},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2})",
       "key \"metric\" is missing"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": 5})",
       "key \"metric\" must be a string"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts"})",
       "key \"unary\" is missing"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": [1]})",
       "key \"unary\" must be a string"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "none.npy"})",
       "No such file"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "m.json"})",
       "not a .npy file"},
      {R"({"submarine": "grid", "width": 2, "height": 3, "labels": 2, "metric": "potts", "unary": "u.npy"})",
       "key \"unary\": "},
      {R"({"submarine": "grid", "width": 2, "height": 3, "labels": 2, "metric": "potts", "unary": "u.npy"})",
       "has shape (2, 3, 2), but (height, width, labels) = (3, 2, 2) was expected"},
      {R"({"submarine": "grid", "width": 40000, "height": 40000, "labels": 2, "metric": "potts", "unary": "u.npy"})",
       "(40000, 40000, 2) was expected"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy", "weight": -1})",
       "key \"weight\" must not be negative"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy", "weight": "1"})",
       "key \"weight\" must be a finite number"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy", "weight": 1, "weights": "w.npy"})",
       "key \"weight\" must be left out"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy", "weights": "w2.npy"})",
       "has shape (2,), but (edges) = (7,) was expected"},
      {R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", "unary": "u.npy", "constant": true})",
       "key \"constant\" must be a finite number"},
      {R"({"submarine": "graph", "variables": 6, "labels": 2, "metric": "potts", "unary": "flat.npy"})",
       "key \"edges\" is missing"},
      {R"({"submarine": "graph", "variables": 6, "labels": 2, "metric": "potts", "unary": "u.npy", "edges": "e.npy"})",
       "(variables, labels) = (6, 2) was expected"},
      {R"({"submarine": "graph", "variables": 6, "labels": 2, "metric": "potts", "unary": "flat.npy", "edges": "w.npy"})",
       "(edges, 2) was expected"},
      {R"({"submarine": "graph", "variables": 6, "labels": 2, "metric": "potts", "unary": "flat.npy", "edges": "flat.npy"})",
       "integers were expected"},
      {R"({"submarine": "graph", "variables": 6, "labels": 2, "width": 3})",
       "unknown key \"width\""},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(MessageOf<FileError>([&] { Read(bad.json); }),
                AllOf(HasSubstr("m.json"), HasSubstr(bad.reason)))
        << bad.json;
  }
  EXPECT_THAT(
      MessageOf<InvalidInput>([&] {
        Read(R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "pots"})");
      }),
      AllOf(HasSubstr("m.json: key \"metric\""), HasSubstr("\"pots\"")));
  EXPECT_THROW(ReadBundle(dir_ / "none.json"), FileError);
  EXPECT_THROW(ReadBundle(dir_.path()), FileError);
}

// A bundle from elsewhere can only read files of its own directory.
TEST_F(BundleTest, PathsStayBesideTheHeader) {
  const std::string begin =
      R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": )";
  const auto read = [&](const std::string& metric, const std::string& unary) {
    Read(begin + '"' + metric + R"(", "unary": ")" + unary + "\"}");
  };
  const std::string absolute = (dir_ / "u.npy").string();
  const std::string above = "../" + dir_.path().filename().string() + "/u.npy";
  const std::string inside = "sub/../u.npy";
  for (const std::string& bad :
       {absolute, above, inside, std::string("u.npy\\u0000.png"), std::string()}) {
    EXPECT_THAT(
        MessageOf<FileError>([&] { read("potts", bad); }),
        AllOf(HasSubstr("m.json: key \"unary\""), HasSubstr("inside the directory of the header")))
        << bad;
  }
  dir_.WriteText("t.json", R"({"children": [{"label": 0}, {"label": 1}]})");
  const std::string tree = (dir_ / "t.json").string();
  for (const std::string& bad :
       {tree, std::string("/etc/passwd"), std::string("../t.json"), std::string("t.json\\u0000")}) {
    EXPECT_THAT(MessageOf<InvalidInput>([&] { read("tree:" + bad, "u.npy"); }),
                AllOf(HasSubstr("m.json: key \"metric\""),
                      HasSubstr("inside the directory of the header"), Not(HasSubstr("root"))))
        << bad;
  }
  std::filesystem::create_directory(dir_ / "sub");
  std::filesystem::copy(dir_ / "u.npy", dir_ / "sub/u.npy");
  std::filesystem::copy(dir_ / "t.json", dir_ / "sub/t.json");
  EXPECT_NO_THROW(read("tree:./sub/t.json", "sub/u.npy"));

  const SparseCrf model(unary_, GridEdges(3, 2, 4, 1.0), PottsLabels(2));
  EXPECT_THAT(MessageOf<InvalidInput>(
                  [&] { WriteGridBundle(dir_ / "x.json", model, 3, 2, 4, "tree:" + tree); }),
              HasSubstr("inside the directory of the header"));
  EXPECT_NO_THROW(WriteGridBundle(dir_ / "x.json", model, 3, 2, 4, "tree:t.json"));
  EXPECT_NO_THROW(ReadBundle(dir_ / "x.json"));
}

TEST_F(BundleTest, BadValuesNameTheirPlace) {
  const std::string grid =
      R"({"submarine": "grid", "width": 3, "height": 2, "labels": 2, "metric": "potts", )";
  Matrix<double> unary = unary_;
  unary(4, 1) = std::nan("");
  WriteNpy(dir_ / "nan.npy", unary, {2, 3, 2});
  EXPECT_THAT(MessageOf<FileError>([&] { Read(grid + R"("unary": "nan.npy"})"); }),
              AllOf(HasSubstr("nan.npy"), HasSubstr("nan at [1, 1, 1]"), HasSubstr("finite")));
  for (const double bad : {-0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    WriteDoubles(dir_ / "bad_w.npy", {1, 1, bad, 1, 1, 1, 1}, {7});
    EXPECT_THAT(
        MessageOf<FileError>([&] { Read(grid + R"("unary": "u.npy", "weights": "bad_w.npy"})"); }),
        AllOf(HasSubstr("bad_w.npy"), HasSubstr("at [2]")));
  }
  const std::string graph =
      R"({"submarine": "graph", "variables": 6, "labels": 2, "metric": "potts", "unary": "flat.npy", "edges": "bad_e.npy"})";
  const auto edges_message = [&](std::vector<std::int64_t> ends) {
    WriteNpy(dir_ / "bad_e.npy", std::span<const std::int64_t>(ends),
             NpyShape{static_cast<std::int64_t>(ends.size() / 2), 2});
    return MessageOf<FileError>([&] { Read(graph); });
  };
  EXPECT_THAT(edges_message({0, 1, 2, 6}), HasSubstr("variable 6 at [1, 1]"));
  EXPECT_THAT(edges_message({0, 1, -1, 2}), HasSubstr("variable -1 at [1, 0]"));
  EXPECT_THAT(edges_message({0, 1LL << 40}), HasSubstr("at [0, 1]"));
  EXPECT_THAT(edges_message({0, 1, 2, 2}), HasSubstr("joins variable 2 to itself in row 1"));
}

TEST_F(BundleTest, WritesWhatItReads) {
  std::vector<Edge> edges = GridEdges(3, 2, 8, 0.1);
  const SparseCrf uniform(unary_, edges, LinearLabels(2), 0.75);
  WriteGridBundle(dir_ / "uniform.json", uniform, 3, 2, 8, "linear");
  const LoadedModel back = ReadBundle(dir_ / "uniform.json");
  EXPECT_EQ(back.width, 3);
  EXPECT_EQ(back.height, 2);
  ExpectSameModel(back.model, uniform);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "uniform.weights.npy"));

  edges[4].weight = 1.0 / 3.0;
  const SparseCrf weighted(unary_, edges, PottsLabels(2));
  WriteGridBundle(dir_ / "weighted.json", weighted, 3, 2, 8, "tree:(0,1)");
  ExpectSameModel(ReadBundle(dir_ / "weighted.json").model, weighted);

  const SparseCrf graph(unary_, {{0, 5, 0.5}, {3, 1, 0.25}}, PottsLabels(2));
  WriteGraphBundle(dir_ / "graph.json", graph, "potts");
  ExpectSameModel(ReadBundle(dir_ / "graph.json").model, graph);
  const SparseCrf no_edges(unary_, {}, PottsLabels(2));
  WriteGraphBundle(dir_ / "graph.json", no_edges, "potts");
  ExpectSameModel(ReadBundle(dir_ / "graph.json").model, no_edges);
}

TEST_F(BundleTest, WriterRefusesToRecordAnotherModel) {
  const Matrix<double> unary = RandomUnary(6, 3);
  const SparseCrf model(unary, GridEdges(3, 2, 4, 1.0), PottsLabels(3));
  const int before = dir_.NumFiles();
  EXPECT_THROW(WriteGridBundle(dir_ / "x.json", model, 3, 2, 4, "linear"), InvalidInput);
  EXPECT_THROW(WriteGridBundle(dir_ / "x.json", model, 3, 2, 8, "potts"), InvalidInput);
  EXPECT_THROW(WriteGridBundle(dir_ / "x.json", model, 2, 3, 4, "potts"), InvalidInput);
  EXPECT_THROW(WriteGridBundle(dir_ / "x.json", model, 3, 3, 4, "potts"), InvalidInput);
  EXPECT_EQ(dir_.NumFiles(), before);
  EXPECT_THROW(WriteGridBundle(dir_ / "no/x.json", model, 3, 2, 4, "potts"), FileError);
}

}  // namespace
}  // namespace submarine::internal
