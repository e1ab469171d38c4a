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

// A callback asked for the end of work that has nothing to show before it is done.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// Such work was not done when its time limit passed.
class TimeLimit : public Interrupted {
 public:
  using Interrupted::Interrupted;
};

}  // namespace submarine
