#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "cluster/rendezvous.h"
#include "cluster/run_check.h"
#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// A rank of a job, and how the ranks reach each other.
struct MembershipOptions {
  std::shared_ptr<Transport> transport;
  int rank = 0;
  /// Address of this rank's listener, and the pass that callers must present.
  PeerHost own;
  Services services = {};                      ///< served in addition to the job's own
  std::chrono::milliseconds deadline{};        ///< time for all ranks to meet
  std::shared_ptr<const void> held = nullptr;  ///< released when the job is closed
};

/// The membership of one loader in its job: the addresses of all ranks, the one listener by which
/// they reach this rank's services, and the check that all ranks have the same settings.
///
/// The loader opens it, and closes it when no service is needed any more. Calls to other ranks
/// still work after that. Methods may be called from any thread, set_run() only once. The
/// membership never changes.
class Job {
 public:
  /// Opens the listener and then meets the other ranks. Errors are those of Transport::listen() and
  /// Rendezvous::meet().
  static Result<std::shared_ptr<Job>> open(MembershipOptions options, Rendezvous& rendezvous, std::stop_token stop);
  ~Job() { close(); }

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(hosts_.size()); }
  const PeerHost& host(int rank) const { return hosts_[static_cast<size_t>(rank)]; }
  const std::shared_ptr<Transport>& transport() const { return transport_; }
  /// Returns the address at which this rank listens.
  const std::string& address() const { return address_; }

  /// Calls a service of another rank (Transport::call()).
  void call(int rank, std::string_view service, Buffer request, const CallLimits& limits, std::stop_token stop,
            Transport::Done done) const;
  /// Calls a service of another rank and waits for the response (call_and_wait()).
  Result<Buffer> ask(int rank, std::string_view service, Buffer request, const CallLimits& limits,
                     const std::stop_token& stop) const;

  /// Sets the settings of this rank. Rank 0 serves its settings to the other ranks, which compare
  /// them with their own.
  void set_run(RunTerms terms);
  /// Changes the settings of this rank. After set_run() only.
  void edit_run(const std::function<void(RunChanges&)>& change);
  /// Lets the next check_run() ask rank 0 without a pause.
  void ask_soon();
  /// Returns StateMismatch if this rank is known to have other settings than rank 0. Does not wait
  /// (RunCheck::poll()).
  Status check_run();
  /// Asks rank 0 and waits for its answer (RunCheck::ask()). Rank 0 itself gets true. May be called
  /// after set_run() only.
  Result<bool> ask_run(const std::stop_token& stop);

  /// Ends the listener: no service is running or called after it returns. Must not be called from
  /// inside a service.
  void close();

 private:
  explicit Job(MembershipOptions options);
  RunCheck* check() const;

  const std::shared_ptr<Transport> transport_;
  const int rank_;
  const std::shared_ptr<RunService> run_ = std::make_shared<RunService>();
  std::string address_;
  std::vector<PeerHost> hosts_;
  mutable Mutex mutex_;
  std::unique_ptr<RunCheck> check_ FOREBAY_GUARDED_BY(mutex_);  ///< null for rank 0, and before set_run()
  std::unique_ptr<Listening> listening_ FOREBAY_GUARDED_BY(mutex_);
  std::shared_ptr<const void> held_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
