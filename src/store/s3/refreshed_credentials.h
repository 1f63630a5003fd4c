#pragma once

#include <functional>
#include <memory>

#include "store/s3/credentials.h"

namespace forebay {

/// Fetches credentials at the first get(), caches them, and fetches new ones before they expire.
/// The fetch runs in the background while the old ones are still valid; requests wait only after
/// that. At most one fetch is in flight.
class RefreshedCredentials final : public CredentialsSource {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  /// Answers once, before it returns or later.
  using Fetch = std::function<void(Done done)>;

  /// New credentials are fetched when less than kMayRefresh is left, and waited for when less than
  /// kMustRefresh is left.
  static constexpr std::chrono::minutes kMayRefresh{10};
  static constexpr std::chrono::seconds kMustRefresh{30};
  /// Pause after a background fetch that failed.
  static constexpr std::chrono::seconds kPause{20};

  explicit RefreshedCredentials(Fetch fetch, Clock clock = &std::chrono::system_clock::now);
  ~RefreshedCredentials() override;

  void get(Done done) override;
  void refuse(const Credentials& credentials) override;

 private:
  struct State;
  static void fetch(const std::shared_ptr<State>& state);
  static void fetched(const std::shared_ptr<State>& state, Result<Credentials> credentials);
  const std::shared_ptr<State> state_;
};

}  // namespace forebay
