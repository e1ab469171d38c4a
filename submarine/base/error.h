// Typed errors. They are thrown where input enters the library (construction and I/O); solvers
// report numerical outcomes through a Termination instead. Each message is one sentence that says
// what is wrong, where, and what was expected, so that an app can print it as it is.
#pragma once

#include <stdexcept>
#include <string>

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

// The job was refused before it started because it would need more memory or time than allowed.
class TooLarge : public Error {
 public:
  using Error::Error;
};

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
