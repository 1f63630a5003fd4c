#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// Credentials that sign requests. They never appear in a message, log or printed object.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
  std::optional<std::chrono::system_clock::time_point> expires;
  bool anonymous() const { return access_key_id.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Supplies credentials during the life of a store. Methods may be called from any thread.
class CredentialsSource {
 public:
  using Done = std::function<void(Result<Credentials>)>;
  virtual ~CredentialsSource() = default;

  /// Gets credentials that are valid now. `done` is called once, before the call returns or later,
  /// and before the destructor ends.
  virtual void get(Done done) = 0;
  /// Reports that the server called these credentials expired: the next get() fetches new ones, if
  /// it can.
  virtual void refuse(const Credentials& credentials) = 0;
};

/// Returns a source that always supplies the same credentials.
std::shared_ptr<CredentialsSource> fixed_credentials(Credentials credentials);

}  // namespace forebay
