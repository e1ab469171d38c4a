# NOT RUN. See packaging/README.md.
class SubmarineCrf < Formula
  desc "Marginals of conditional random fields with certified bounds on log Z"
  homepage "https://pypi.org/project/submarine-crf/"
  url "https://pypi.org/packages/source/s/submarine-crf/submarine_crf-0.1.0.tar.gz"
  sha256 "filled in when it is published"
  license "BSD-3-Clause"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "clp"
  depends_on "fmt"
  depends_on "gcc"
  depends_on "highway"
  depends_on "jpeg-turbo"
  depends_on "libpng"
  depends_on "libtiff"
  depends_on "numpy"
  depends_on "python@3.13"
  depends_on "tbb"

  fails_with :clang

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args, "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_UNITY_BUILD=ON",
           "-DSUBMARINE_BUILD_PYTHON=ON", "-DSUBMARINE_BUILD_TESTS=OFF", "-DSUBMARINE_BUILD_BENCHMARKS=OFF"
    system "cmake", "--build", "build", "--target", "install", "submarine_python"
    (prefix/Language::Python.site_packages("python3.13")).install "build/python/submarine"
  end

  test do
    system bin/"submarine", "generate", "--weight", "5", "--width", "20", "--height", "20", "-o", "grid.json"
    assert_match "log Z", shell_output("#{bin}/submarine solve grid.json")
  end
end
