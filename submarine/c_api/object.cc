#include "submarine/c_api/object.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <new>
#include <string>

#include "submarine/base/version.h"

namespace submarine::c_api {
namespace {

struct LastError {
  std::string message;
  std::string details = "{}";
};

LastError& Last() {
  static thread_local LastError last;
  return last;
}

std::string DetailsOf(const TooLarge& error) {
  const Remedy& remedy = error.remedy();
  Json details = {{"refusal", error.refusal()}};
  if (remedy.given_variables > 0.0) {
    details["variables"] = remedy.variables;
    details["given_variables"] = remedy.given_variables;
  }
  if (remedy.fewer_labels) details["fewer_labels"] = true;
  if (!remedy.methods.empty()) details["methods"] = remedy.methods;
  if (remedy.more_seconds > 0.0) details["more_seconds"] = remedy.more_seconds;
  if (remedy.bytes > 0.0) details["bytes"] = remedy.bytes;
  return details.dump();
}

}  // namespace

Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

sm_status KeepError(const std::exception_ptr& error) {
  LastError& last = Last();
  const auto keep = [&](const std::exception& what, sm_status status) {
    last = {what.what()};
    return status;
  };
  try {
    try {
      std::rethrow_exception(error);
    } catch (const InvalidInput& what) {
      return keep(what, SM_INVALID_INPUT);
    } catch (const NotExpressible& what) {
      return keep(what, SM_NOT_EXPRESSIBLE);
    } catch (const FileError& what) {
      return keep(what, SM_FILE_ERROR);
    } catch (const TooLarge& what) {
      last = {what.what(), DetailsOf(what)};
      return SM_TOO_LARGE;
    } catch (const TimeLimit& what) {
      return keep(what, SM_TIME_LIMIT);
    } catch (const Interrupted& what) {
      return keep(what, SM_INTERRUPTED);
    } catch (const std::bad_alloc&) {
      last = {"there is not enough memory"};
      return SM_OUT_OF_MEMORY;
    } catch (const std::exception& what) {
      return keep(what, SM_OTHER_ERROR);
    } catch (...) {
      last = {"something that is no error was thrown"};
      return SM_OTHER_ERROR;
    }
  } catch (...) {  // no memory for the message
    last.message.clear();
    return SM_OUT_OF_MEMORY;
  }
}

}  // namespace submarine::c_api

sm_array sm_object::View(std::string_view name, std::size_t index) const {
  throw submarine::InvalidInput(fmt::format("the object has no array \"{}\" {}", name, index));
}

using submarine::c_api::Given;
using submarine::c_api::Guarded;
using submarine::c_api::Json;

const char* sm_error_message() { return submarine::c_api::Last().message.c_str(); }
const char* sm_error_details() { return submarine::c_api::Last().details.c_str(); }

int sm_api_version() { return SM_API_VERSION; }
const char* sm_version() { return submarine::kVersion; }

void sm_free(sm_object* object) { delete object; }

sm_status sm_describe(const sm_object* object, const char** json) {
  static thread_local std::string text;
  return Guarded([&] {
    Given(json, "the place for the description");
    text = Given(object, "the object")
               .Description()
               .dump(-1, ' ', false, Json::error_handler_t::replace);
    *json = text.c_str();
  });
}

sm_status sm_view(const sm_object* object, const char* name, size_t index, sm_array* view) {
  return Guarded([&] {
    Given(view, "the place for the view");
    *view = Given(object, "the object").View(&Given(name, "the name"), index);
  });
}
