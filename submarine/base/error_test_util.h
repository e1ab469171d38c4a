// For tests of error messages for bad input.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "submarine/base/error.h"

namespace submarine::internal::testing {

template <class Body>
void ExpectInvalid(const Body& body, const std::string& part_of_message) {
  try {
    body();
    ADD_FAILURE() << "expected InvalidInput: " << part_of_message;
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(part_of_message));
  }
}

}  // namespace submarine::internal::testing
