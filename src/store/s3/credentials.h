#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// What requests are signed with. Appears in no message, log or printed object.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
  std::optional<std::chrono::system_clock::time_point> expires;
  bool anonymous() const { return access_key_id.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Where credentials come from, for as long as a store lives. Any thread may ask.
class CredentialsSource {
 public:
  using Done = std::function<void(Result<Credentials>)>;
  virtual ~CredentialsSource() = default;

  /// Credentials that are valid now; answers once, at once or later, also before the destructor ends.
  virtual void get(Done done) = 0;
  /// The server called these expired: the next get() fetches others, if it can.
  virtual void refuse(const Credentials& credentials) = 0;
};

/// Always the same.
std::shared_ptr<CredentialsSource> fixed_credentials(Credentials credentials);

}  // namespace forebay
