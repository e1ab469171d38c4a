// Translates the library's errors to those of submarine/_errors.py.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <vector>

#include "python/src/bind.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

namespace py = pybind11;

void Raise(const char* name, const std::string& message) {
  const py::object type = py::module_::import("submarine._errors").attr(name);
  PyErr_SetObject(type.ptr(), py::str(message).ptr());
}

// With what would do, in options of the package.
std::string InKeywords(const TooLarge& error) {
  const Remedy& remedy = error.remedy();
  std::vector<std::string> ways;
  if (remedy.given_variables > 0.0)
    ways.push_back(fmt::format("{:.0f} variables instead of {:.0f}", remedy.variables,
                               remedy.given_variables));
  if (remedy.fewer_labels) ways.emplace_back("fewer labels");
  if (!remedy.methods.empty())
    ways.push_back(fmt::format("method=\"{}\"", fmt::join(remedy.methods, "\" or \"")));
  if (remedy.more_seconds > 0.0)
    ways.push_back(fmt::format("a time_limit {:.0f} s longer", remedy.more_seconds));
  if (remedy.bytes > 0.0) ways.push_back(fmt::format("max_memory={:.3g}", remedy.bytes / 1e9));
  return ways.empty() ? error.refusal() : error.refusal() + "; " + AnyWouldDo(ways);
}

void Translate(std::exception_ptr pointer) {  // NOLINT(performance-unnecessary-value-param)
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const InvalidInput& error) {
    Raise("InvalidInput", error.what());
  } catch (const NotExpressible& error) {
    Raise("NotExpressible", error.what());
  } catch (const FileError& error) {
    Raise("FileError", error.what());
  } catch (const TooLarge& error) {
    Raise("TooLarge", InKeywords(error));
  } catch (const TimeLimit& error) {
    Raise("TimeLimit", error.what());
  } catch (const Interrupted& error) {
    Raise("Interrupted", error.what());
  } catch (const Error& error) {
    Raise("Error", error.what());
  }
}

}  // namespace

void BindErrors(py::module_& /*m*/) { py::register_exception_translator(&Translate); }

}  // namespace submarine::python
