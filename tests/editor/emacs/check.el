;;; Opens bank.py with eglot, waits for the diagnostics and asks for the actions of a line.  -*- lexical-binding: t -*-
(package-initialize)
(require 'eglot)
(require 'flymake)

(defvar dpor-report (getenv "DPOR_REPORT"))
(defun dpor-say (text) (write-region (concat text "\n") nil dpor-report t 'silent))

(setq eglot-sync-connect 60
      eglot-events-buffer-size 0
      eglot-server-programs
      `((python-mode . (,(getenv "DPOR_PYTHON") "-m" "dpor_lsp"))))

(find-file "bank.py")
(python-mode)
(eglot--connect '(python-mode) (project-current t) 'eglot-lsp-server
                `(,(getenv "DPOR_PYTHON") "-m" "dpor_lsp") "python")
(eglot--maybe-activate-editing-mode)
(flymake-mode 1)
(let ((end (+ (float-time) 60)))
  (while (and (< (float-time) end) (null (flymake-diagnostics)))
    (accept-process-output nil 0.1)
    (flymake-start)))
(dolist (item (flymake-diagnostics))
  (dpor-say (format "diagnostic %d %s" (1- (line-number-at-pos (flymake-diagnostic-beg item)))
                    (car (split-string (flymake-diagnostic-text item) "\n")))))
(goto-char (point-min))
(forward-line 13)
(dolist (action (append (jsonrpc-request (eglot-current-server) :textDocument/codeAction
                                        (list :textDocument (eglot--TextDocumentIdentifier)
                                              :range (list :start (eglot--pos-to-lsp-position)
                                                           :end (eglot--pos-to-lsp-position))
                                              :context (list :diagnostics [])))
                        nil))
  (dpor-say (concat "action " (plist-get action :title))))
(let ((kill-emacs-hook nil)) (kill-emacs 0))
