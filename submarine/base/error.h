// Typed errors. They are thrown where input enters the library (construction and I/O); solvers
// report numerical outcomes through a Termination instead. Each message is one sentence that says
// what is wrong, where, and what was expected, so that an app can print it as it is.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace submarine {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The input contradicts the definition of a model: wrong sizes, NaN, negative weights, a
// non-metric.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

// The input is a legitimate model, but this method or extension cannot express it.
class NotExpressible : public Error {
 public:
  using Error::Error;
};

// A file cannot be read, is malformed, or cannot be written.
class FileError : public Error {
 public:
  using Error::Error;
};

// What would make a refused job fit, each on its own: programs say it in the words of their options.
struct Remedy {
  double variables = 0.0;        // a model with this number of them, instead of
  double given_variables = 0.0;  // these; 0: no help
  bool fewer_labels = false;
  std::vector<std::string> methods = {};  // their names
  double more_seconds = 0.0;              // of time limit; 0: no help
  double bytes = 0.0;                     // a memory limit; 0: no help
};

// The job was refused before it started because it would need more memory or time than allowed.
class TooLarge : public Error {
 public:
  explicit TooLarge(const std::string& refusal, Remedy remedy = {});

  const std::string& refusal() const { return refusal_; }  // what() without the remedy
  const Remedy& remedy() const { return remedy_; }

 private:
  std::string refusal_;
  Remedy remedy_;
};

// "a, b or c would do", nothing for no ways.
std::string AnyWouldDo(const std::vector<std::string>& ways);

// A callback interrupted work that has no partial result to return.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// The time limit passed before such work was done.
class TimeLimit : public Interrupted {
 public:
  using Interrupted::Interrupted;
};

}  // namespace submarine
