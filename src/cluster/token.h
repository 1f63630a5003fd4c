#pragma once

#include <string>
#include <string_view>

#include "base/same_secret.h"
#include "forebay/result.h"

namespace forebay {

/// What tells the hosts of a job from strangers.
struct JobPass {
  std::string token;        ///< of at least kLeastTokenLetters, the same on all hosts
  uint64_t generation = 0;  ///< of the membership: who has an older one is a stranger, too
};

inline constexpr size_t kLeastTokenLetters = 16;

/// 32 random hexadecimal digits. Unavailable where the system has no randomness to give.
Result<std::string> new_token();

/// InvalidArgument, without a word of the token, for one that is too short, or has other than printable characters without blanks.
Status check_token(std::string_view token);

/// That of FOREBAY_CLUSTER_TOKEN, else of the file that FOREBAY_CLUSTER_TOKEN_FILE names; empty where neither is set.
Result<std::string> token_from_environment();

}  // namespace forebay
