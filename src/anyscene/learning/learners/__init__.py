"""Weak learners: trees and blends, fitted to the active leaves of many images."""
