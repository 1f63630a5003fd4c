#include "cluster/token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

Result<std::string> token_of_file(const char* path) {
  std::ifstream file(path);
  std::string token;
  // The token is one word: the end of the line is not part of it.
  if (!file || !(file >> token))
    return invalid_argument(fmt::format("FOREBAY_CLUSTER_TOKEN_FILE: there is no token in {}", path));
  return token;
}

}  // namespace

Result<std::string> new_token() {
  std::array<unsigned char, 16> random{};
  // Up to 256 bytes come whole or not at all (getrandom(2)).
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return unavailable("the system gives no random bytes for a token");
  std::string token;
  for (const unsigned char byte : random) token += fmt::format("{:02x}", byte);
  return token;
}

Status check_token(std::string_view token) {
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
  if (token.size() >= kLeastTokenLetters && token.size() <= 256 && printable) return {};
  return invalid_argument(fmt::format(
      "the token of the job (FOREBAY_CLUSTER_TOKEN) must have {} to 256 printable characters without blanks, "
      "and has {}; `openssl rand -hex 16` makes one",
      kLeastTokenLetters, token.size()));
}

Result<std::string> token_from_environment() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* token = set("FOREBAY_CLUSTER_TOKEN")) return std::string(token);
  if (const char* path = set("FOREBAY_CLUSTER_TOKEN_FILE")) return token_of_file(path);
  return std::string();
}

}  // namespace forebay
