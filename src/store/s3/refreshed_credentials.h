#pragma once

#include <functional>
#include <memory>

#include "store/s3/credentials.h"

namespace forebay {

/// Fetches credentials when they are first wanted, keeps them, and fetches new ones before they expire: in the background
/// while the old ones still serve, and only then lets requests wait. However many ask, one fetch is under way.
class RefreshedCredentials final : public CredentialsSource {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  /// Answers once, at once or later.
  using Fetch = std::function<void(Done done)>;

  /// New ones are fetched when less than this is left, and waited for when less than `kMustRefresh` is.
  static constexpr std::chrono::minutes kMayRefresh{10};
  static constexpr std::chrono::seconds kMustRefresh{30};
  /// A background fetch that failed is not repeated sooner than this.
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
