#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "forebay/result.h"

namespace forebay {

/// Unavailable, with UCX's words for it.
Status ucx_trouble(const std::string& what, ucs_status_t status);

/// A worker of UCX with a context of its own, for one thread: all but wake() is called from it.
class UcxWorker {
 public:
  UcxWorker() = default;
  ~UcxWorker() { close(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  /// `devices`: those of the network that are used, unless UCX_NET_DEVICES says which; empty: all.
  Status open(const std::string& devices);
  /// What is under way ends with errors here, if not before.
  void close();
  ucp_worker_h get() const { return worker_; }
  /// How other workers reach this one: bytes.
  Result<std::string> address() const;
  /// The calling thread is the one, from now on: what UCX has to say there is told by what fails, and not printed.
  static void own_this_thread();
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// Until something comes, somebody wakes it, or the time is over; -1: without end.
  void sleep(int milliseconds);
  /// From any thread.
  void wake() { ucp_worker_signal(worker_); }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int events_ = -1;
};

}  // namespace forebay
