#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/rendezvous.h"
#include "cluster/run_check.h"
#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

struct JobOptions {
  std::shared_ptr<Transport> transport;
  int rank = 0;
  PeerHost own;                                ///< where this rank listens, and what it wants to be shown
  Services services = {};                      ///< that it serves from the beginning, beside the job's own
  std::chrono::milliseconds deadline{};        ///< until all ranks have met
  std::shared_ptr<const void> held = nullptr;  ///< released when the job is closed
};

/// The place of one loader among the ranks of its job: who they are, the one listener at which they reach
/// this rank's services, and the check that all of them have the same settings.
///
/// Opened by the loader, which closes it when nothing is to be served any more; calls may still be made
/// afterwards. Methods may be called from any thread, set_run() once. The membership never changes.
class Job {
 public:
  /// Listens, and then meets the others. Errors: of Transport::listen() and Rendezvous::meet().
  static Result<std::shared_ptr<Job>> open(JobOptions options, Rendezvous& rendezvous, std::stop_token stop);
  ~Job() { close(); }

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(hosts_.size()); }
  const PeerHost& host(int rank) const { return hosts_[static_cast<size_t>(rank)]; }
  const std::shared_ptr<Transport>& transport() const { return transport_; }
  /// Where this rank listens.
  const std::string& address() const { return address_; }

  /// Transport::call() of another rank.
  void call(int rank, std::string_view service, Buffer request, const CallLimits& limits, std::stop_token stop,
            Transport::Done done) const;
  /// call_and_wait().
  Result<Buffer> ask(int rank, std::string_view service, Buffer request, const CallLimits& limits,
                     const std::stop_token& stop) const;

  /// The settings of this rank, once they are known: rank 0 tells them to the others, which compare them with
  /// theirs.
  void set_run(RunTerms terms);
  /// StateMismatch where this rank is known to have other settings than rank 0. Does not wait (RunCheck::look()).
  Status check_run();
  /// Asks rank 0 and waits (RunCheck::ask()); true for rank 0 itself. Behind set_run().
  Result<bool> ask_run(const std::stop_token& stop);

  /// Ends the listener: no service is called when it returns. Not from inside of a service.
  void close();

 private:
  explicit Job(JobOptions options);
  RunCheck* check() const;

  const std::shared_ptr<Transport> transport_;
  const int rank_;
  const std::shared_ptr<RunService> run_ = std::make_shared<RunService>();
  std::string address_;
  std::vector<PeerHost> hosts_;
  mutable std::mutex mutex_;
  std::unique_ptr<RunCheck> check_;  ///< null: of rank 0, and before set_run()
  std::unique_ptr<Listening> listening_;
  std::shared_ptr<const void> held_;
};

}  // namespace forebay
