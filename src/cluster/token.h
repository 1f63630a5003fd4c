#pragma once

#include <string>
#include <string_view>

#include "base/same_secret.h"
#include "forebay/result.h"

namespace forebay {

/// Credentials by which the hosts of a job recognize each other.
struct JobPass {
  std::string token;        ///< at least kLeastTokenLetters characters, the same on all hosts
  uint64_t generation = 0;  ///< of the membership; callers with an older one are refused
};

inline constexpr size_t kLeastTokenLetters = 16;

/// Returns 32 random hexadecimal digits. Unavailable if the system gives no random bytes.
Result<std::string> new_token();

/// Returns InvalidArgument for a token that is too short, too long or has blanks or unprintable
/// characters. The message does not contain the token.
Status check_token(std::string_view token);

/// Returns FOREBAY_CLUSTER_TOKEN, or else the first word of the file that
/// FOREBAY_CLUSTER_TOKEN_FILE names. Empty if neither is set.
Result<std::string> token_from_environment();

}  // namespace forebay
