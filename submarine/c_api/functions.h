// The functions of sm_call().
#pragma once

#include <string>
#include <vector>

namespace submarine::c_api {

std::vector<std::string> FunctionNames();

}  // namespace submarine::c_api
