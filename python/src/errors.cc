// Translates the library's errors to those of submarine/_errors.py.
#include <pybind11/pybind11.h>

#include <exception>

#include "python/src/bind.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

namespace py = pybind11;

void Raise(const char* name, const std::exception& error) {
  const py::object type = py::module_::import("submarine._errors").attr(name);
  PyErr_SetObject(type.ptr(), py::str(error.what()).ptr());
}

void Translate(std::exception_ptr pointer) {  // NOLINT(performance-unnecessary-value-param)
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const InvalidInput& error) {
    Raise("InvalidInput", error);
  } catch (const NotExpressible& error) {
    Raise("NotExpressible", error);
  } catch (const FileError& error) {
    Raise("FileError", error);
  } catch (const TooLarge& error) {
    Raise("TooLarge", error);
  } catch (const TimeLimit& error) {
    Raise("TimeLimit", error);
  } catch (const Interrupted& error) {
    Raise("Interrupted", error);
  } catch (const Error& error) {
    Raise("Error", error);
  }
}

}  // namespace

void BindErrors(py::module_& /*m*/) { py::register_exception_translator(&Translate); }

}  // namespace submarine::python
